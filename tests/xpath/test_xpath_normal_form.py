"""Equal meaning gives equal patterns; classes, reasons, constants, branches."""

from random import Random

import pytest

from winnow.xpath import Class, Limits, Pattern, Rejected, branches, compile_profile, compiled, pattern_text
from winnow.xpath.plain import plain_path

NAMESPACES = {"n": "urn:n", "m": "urn:n"}


def texts(xpath: str, **options) -> list[str]:
    return [pattern_text(pattern) for pattern in compile_profile(xpath, NAMESPACES, **options).alternatives]


EQUAL = [
    ("b", "/*/b"),
    (
        "//a",
        "/descendant::a",
        "/descendant-or-self::node()/child::a",
        "//self::a",
        "//./a",
        "//*[self::a]",
    ),
    (
        "/a/b",
        "/a[b]",
        "/a/./b",
        "/a[./b]",
        "/a/self::a/b",
        "/a/self::node()/b",
        "/a and /*/b",
        "b/parent::a",
        "/a/b/..",
    ),
    ("//a[b][c]", "//a[c][b]", "//a[b and c]", "//a[c]/b", "//a[b][c][b]", "//a/b/../c", "//b[../c]/parent::a"),
    ("//a[b/c]", "//a[b][b/c]", "//a[*/c][b/c]", "//a[.//c][b/c]"),
    ("//*/a", "//*//a", "/*//a", "//a[ancestor::*]", "//a[parent::*]", "/descendant::*/descendant::a"),
    ("//a[*]", "//a[.//*]", "//a[descendant::*]"),
    ("//a[@x = 'v']", "//a['v' = @x]", "//a/@x[. = 'v']", "//@x[. = 'v']/parent::a", "//a[@x[. = 'v'] = 'v']"),
    ("//a[@x > 5]", "//a[5 < @x]", "//a[number(@x) > 5.0]", "//a[@x > '5' and @x > 3]", "//a[@x > 10 div 2]"),
    ("//a[. >= 5 and . <= 5]", "//a[. = 5]"),
    ("//a[b or c]", "//a[b] | //a[c]", "//a/b | //a[c]", "//a[not(not(b)) or c]", "//a[not(not(b) and not(c))]"),
    ("//a", "//a | //a[b]", "//a[b] or //a", "//a[true()]", "//a[1 = 1]", "boolean(//a)", "count(//a) >= 1"),
    ("//n:a", "//m:a"),
    ("//@x", "/*//@x", "//*/@x | /*/@x"),
    ("//b[ancestor::a]", "//a//b"),
    ("//a[contains(b, 'x')]", "//a[contains(string(b), 'x')]", "//a[contains(./b, 'x')]"),
    (".", "/", "..", "true()", "1", "'x'", "//.", "/*", "//*", "contains(a, '')", "count(a) >= 0"),
    ("false()", "0", "''", "/a[self::b]", "/..", "/text()", "//@x/@y", "//a[. = 'x' and . = 'y']", "/a and /b", "a[0]"),
]


@pytest.mark.parametrize("same", EQUAL, ids=lambda same: same[0])
def test_equal_meaning_gives_equal_patterns(same: tuple[str, ...]) -> None:
    first, *others = [compile_profile(xpath, NAMESPACES) for xpath in same]
    assert first.klass is Class.NATIVE
    for xpath, other in zip(same[1:], others, strict=True):
        assert (other.klass, other.alternatives) == (Class.NATIVE, first.alternatives), xpath


def test_constants() -> None:
    assert compile_profile("true()").alternatives == (Pattern(()),)
    assert compile_profile("false()").alternatives == ()


# What stays certain when libxml2 has the last word.
RELAXED = [
    ("//a[not(b)]", "not", ["//a"]),
    ("//a[not(b)]/c", "not", ["//a/c"]),
    ("//a[2][b]/c", "position", ["//a[b]/c"]),
    ("//a[position() = 2 and b]", "position", ["//a/b"]),
    ("//a[b][position() = 2 or c]", "position", ["//a/b"]),
    ("//a[preceding-sibling::b]", "axis", ["//*[a]/b"]),
    ("//a[following::b/c]", "axis", ["//a and //b/c"]),
    ("//a[@x = @y]", "node_set_comparison", ["//a[@x]/@y"]),
    ("//a[@x + 1 > @y]", "function", ["//a[@x]/@y"]),
    ("//a[@x * 2 = 4]", "arithmetic", ["//a/@x"]),
    ("//a[count(b) = 2]", "function", ["//a/b"]),
    ("//a[count(b) < 2]", "function", ["//a"]),
    ("//a[normalize-space(@x) = 'u v']", "function", ["//a/@x[contains(., 'u')][contains(., 'v')]"]),
    ("//a[contains(b/c, 'x')]", "first_node", ["//a/b/c[contains(., 'x')]"]),
    ("//a[substring(@x, 2) = 'v']", "function", ["//a/@x[contains(., 'v')]"]),
    ("//n:*[@x]", "namespace_wildcard", ["//@x"]),
    ("//a[comment()]", "node_test", ["//a"]),
    ("//a/node()[b]", "", ["//a/*/b"]),
    ("not(//a)", "not", ["always"]),
    ("//a[string-length(@x) > 3]", "function", ["//a/@x[. != '']"]),
    ("//a[name() = 'q']", "function", ["//a"]),
    ("//a[last()]/b", "position", ["//a/b"]),
]


@pytest.mark.parametrize(("xpath", "reason", "patterns"), RELAXED)
def test_relaxation(xpath: str, reason: str, patterns: list[str]) -> None:
    compiled = compile_profile(xpath, NAMESPACES)
    assert [pattern_text(pattern) for pattern in compiled.alternatives] == patterns
    assert reason in {*(found.code for found in compiled.reasons), ""}
    assert (compiled.klass is Class.HYBRID) is bool(reason)
    assert all(found.column for found in compiled.reasons)


def test_alternatives_are_bounded() -> None:
    many = " and ".join(f"(b{i} or c{i})" for i in range(10))
    compiled = compile_profile(f"//a[{many}]")
    assert compiled.klass is Class.HYBRID
    assert {reason.code for reason in compiled.reasons} == {"alternatives"}
    assert 1 <= len(compiled.alternatives) <= 64
    few = compile_profile("//a[b or c or d]", limits=Limits(alternatives=2))
    assert (few.klass, len(few.alternatives)) == (Class.HYBRID, 1)


def test_branches() -> None:
    (pattern,) = compile_profile("/n:a[b = 'x'][.//@c > 5]//d/text()", NAMESPACES).alternatives
    assert set(branches(pattern)) == {"/{urn:n}a/b[. = 'x']", "/{urn:n}a//@c[. > 5]", "/{urn:n}a//d/text()"}


def test_the_empty_prefix_is_refused() -> None:
    with pytest.raises(Rejected, match="no default namespace"):
        compile_profile("//a", {"": "urn:n"})


def test_compiled_names_only_the_prefixes_it_uses() -> None:
    assert compile_profile("//n:a", NAMESPACES).namespaces == (("n", "urn:n"),)


def test_the_short_cut_for_plain_paths_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    r = Random(1)
    names = ("a", "b", "*", "n:a", "m:b", "or", "div", "text", "_x.y-1")
    plain = ["".join(r.choice(("/", "/", "//")) + r.choice(names) for _ in range(r.randint(1, 5))) for _ in range(3000)]
    plain += [text.lstrip("/") for text in plain]
    quick = [compile_profile(text, NAMESPACES) for text in plain]
    assert all(plain_path(text, NAMESPACES, {}, 99) is not None for text in plain)
    monkeypatch.setattr(compiled, "plain_path", lambda *_: None)
    assert quick == [compile_profile(text, NAMESPACES) for text in plain]


@pytest.mark.parametrize(
    "text", ["", "/", "//", "///a", "a/", "/a//", "a:b:c", "1", "a b", "xml:a", "q:a", "@a", "a()", "."]
)
def test_the_short_cut_leaves_the_rest_alone(text: str) -> None:
    assert plain_path(text, NAMESPACES, {}, 99) is None
