"""Grammar, messages, round trip, and anything a stranger may send."""

import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.xpath import DEFAULT_LIMITS, Rejected, compile_profile
from winnow.xpath.parser import parse
from winnow.xpath.printer import to_sexpr, to_xpath
from xpath_strategies import profile

TREES = [
    ("a/b", "(path (child a) (child b))"),
    ("/", "(path /)"),
    ("//@x", "(path / (descendant-or-self node()) (attribute x))"),
    ("..//.", "(path (parent node()) (descendant-or-self node()) (self node()))"),
    ("* * *", "(* (path (child *)) (path (child *)))"),
    ("div div mod mod mod", "(mod (div (path (child div)) (path (child mod))) (path (child mod)))"),
    ("and and or or or", "(or (and (path (child and)) (path (child or))) (path (child or)))"),
    ("a or b and c = d < e + f * -g | h", "(or (path (child a)) (and (path (child b)) (= (path (child c)) (< "
     "(path (child d)) (+ (path (child e)) (* (path (child f)) (neg (| (path (child g)) (path (child h))))))))))"),
    ("a or b or c", "(or (path (child a)) (path (child b)) (path (child c)))"),
    ("(a or b) or c", "(or (or (path (child a)) (path (child b))) (path (child c)))"),
    ("1 - 2 - 3", "(- (- 1 2) 3)"),
    ("a-1", "(path (child a-1))"),
    ("a -1", "(- (path (child a)) 1)"),
    ("(//a)[1]/b", "(path (filter (path / (descendant-or-self node()) (child a)) 1) (child b))"),
    ("child::text()", "(path (child text()))"),
    ("text", "(path (child text))"),
    ("self::node", "(path (self node))"),
    ("processing-instruction('x')", "(path (child processing-instruction('x')))"),
    ("p:*[q:a]", "(path (child p:* (path (child q:a))))"),
    ('contains("it\'s", \'"\')', "(contains() \"it's\" '\"')"),
    (".5 + 5.", "(+ .5 5.)"),
    ("a.b", "(path (child a.b))"),
    ("naïve[日本]", "(path (child naïve (path (child 日本))))"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree"), TREES)
def test_tree(text: str, tree: str) -> None:
    parsed = parse(text).tree
    assert to_sexpr(parsed) == tree
    assert parse(to_xpath(parsed)).tree == parsed


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_round_trip(r: Random) -> None:
    try:
        tree = parse(profile(r)).tree
    except Rejected:  # position() outside a predicate
        return
    assert parse(to_xpath(tree)).tree == tree


REFUSED = [
    ("", "syntax_error", 1),
    ("   ", "syntax_error", 4),
    ("/a/", "syntax_error", 4),
    ("///a", "syntax_error", 3),
    ("a//", "syntax_error", 4),
    ("a[", "syntax_error", 3),
    ("a[]", "syntax_error", 3),
    ("a]", "syntax_error", 2),
    ("(a", "syntax_error", 3),
    ("a b", "syntax_error", 3),
    (".[a]", "syntax_error", 2),
    ("a/(b)", "syntax_error", 3),
    ("a/count(b)", "syntax_error", 3),
    ("foo::a", "syntax_error", 1),
    ("p : a", "syntax_error", 3),
    ("a:b:c", "syntax_error", 4),
    ("1e5", "syntax_error", 2),
    ("5mod2", "syntax_error", 2),
    ("'abc", "syntax_error", 1),
    ("a = ", "syntax_error", 5),
    ("a ! b", "syntax_error", 3),
    ("a#b", "syntax_error", 2),
    ("text(1)", "syntax_error", 6),
    ("processing-instruction(a)", "syntax_error", 24),
    ("a[\x00]", "bad_character", 3),
    ("a[ª]", "bad_character", 3),
    ("\ud800", "bad_character", 1),
    ("//a[upper-case(b) = 'X']", "unknown_function", 5),
    ("re:test(a, 'x')", "unknown_function", 1),
    ("//a[@b = $v]", "unbound_variable", 10),
    ("//a/p:b", "unbound_prefix", 5),
    ("not(p:b)", "unbound_prefix", 5),
    ("not()", "wrong_arity", 1),
    ("concat('a')", "wrong_arity", 1),
    ("a[contains('a', 'b', 'c')]", "wrong_arity", 3),
    ("count(1)", "type_error", 1),
    ("1/a", "type_error", 2),
    ("'x' | //a", "type_error", 5),
    ("(1)[1]", "type_error", 4),
    ("name('x')", "type_error", 1),
    ("position() = 1", "type_error", 1),
]


@pytest.mark.parametrize(("text", "code", "column"), REFUSED)
def test_refusal(text: str, code: str, column: int) -> None:
    with pytest.raises(Rejected) as caught:
        compile_profile(text)
    assert (caught.value.code, caught.value.column) == (code, column), caught.value.message
    assert caught.value.message


def test_unknown_function_is_named() -> None:
    with pytest.raises(Rejected, match=r"ends-with\(\)"):
        compile_profile("//a[ends-with(@x, 'v')]")


def refusal(text: str) -> Rejected | None:
    try:
        compile_profile(text, {"p": "urn:p"})
    except Rejected as error:
        return error
    return None


def accepted_or_refused(text: str) -> None:
    error = refusal(text)
    assert error is None or (error.code and error.message and 1 <= error.column <= len(text) + 1)


_PIECES = ["a", "p:b", "*", "@", "/", "//", "::", "[", "]", "(", ")", "..", ".", "|", "or", "and", "=", "!=", "<", "-"]
_PIECES += ["1", "'x'", '"', "$", "self::", "not(", "count(", "text()", "position()", ",", " ", "é", "\x07", "😀", ":"]


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(_PIECES), max_size=25).map("".join)))
def test_anything_is_accepted_or_refused(text: str) -> None:
    accepted_or_refused(text)


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False))
def test_mutations_are_accepted_or_refused(r: Random) -> None:
    text = list(profile(r))
    for _ in range(r.randint(1, 3)):
        place = r.randrange(len(text) + 1)
        text[place : place + r.randint(0, 2)] = r.choice(_PIECES)
    accepted_or_refused("".join(text))


DEEP = [
    "(",
    "a[",
    "-",
    "not(",
    "a[(",
    "(a|",
    "/a",
    "//",
    "a or ",
    "1+",
    "1-(",
    "a=",
    "a<",
    "concat('a',",
    "@",
    "[",
    "''[",
]


@pytest.mark.parametrize("piece", DEEP)
@pytest.mark.parametrize("times", [40, 400, 100_000])
def test_deep_nesting_is_no_danger(piece: str, times: int) -> None:
    start = time.perf_counter()
    accepted_or_refused(piece * times + "a")
    accepted_or_refused(piece * times)
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a" * (DEFAULT_LIMITS.length + 1), "length_limit"),
        ("/a" * (DEFAULT_LIMITS.steps + 1), "steps_limit"),
        ("a" + "[b]" * (DEFAULT_LIMITS.predicates + 1), "predicates_limit"),
        ("(" * 40 + "a" + ")" * 40, "nesting_limit"),
        ("1" + "+1" * 40, "nesting_limit"),
        ("//a[../b[not(../c)]]", "cost_limit"),
    ],
)
def test_limits(text: str, code: str) -> None:
    with pytest.raises(Rejected) as caught:
        compile_profile(text)
    assert caught.value.code == code
    assert caught.value.column


def test_the_largest_allowed_nesting_works() -> None:
    depth = DEFAULT_LIMITS.nesting - 1
    assert compile_profile("a[" * depth + "b" + "]" * depth).alternatives
    assert compile_profile("(" * depth + "a" + ")" * depth).alternatives
    assert compile_profile("a[not(" * (depth // 2) + "b" + ")]" * (depth // 2)).reasons


HOSTILE = [
    f"//x[{'//'.join('a' * 40)}//b][{'//'.join('a' * 38)}//c]",
    f"//x[{' or '.join(f'b{i}' for i in range(60))}]" + "/a" * 100,
    "//a" + "[b or c]" * 120,
    "//a" + "[.//b//c]" * 30,
    "//a" + "[ancestor::b]" * 60,
    "//a" + "[../b]" * 60,
    "//a" + "[ancestor::*[ancestor::*]]" * 20 + "/b/c/d",
    "//*" * 60,
    "/*" * 120,
    " or ".join(f"//a{i}[.='{i}']" for i in range(100)),
    " | ".join("//a//a//a" for _ in range(20)),
    "//a[" + " and ".join(f". != '{i}'" for i in range(300)) + "]",
    "//a[" + " and ".join(f". > {i}" for i in range(300)) + "]",
    "descendant-or-self::a/" * 60 + "b",
    "a/../" * 60 + "b",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:20])
def test_no_expression_takes_long(text: str) -> None:
    start = time.process_time()
    accepted_or_refused(text)
    assert time.process_time() - start < 1
