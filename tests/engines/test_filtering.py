"""Engines that read documents node by node: candidates of a naive twin, and counts.

The twin is that of engines that take patterns line by line; the one of xtrie is in test_xtrie.py. That matches are
those of lxml is shown, for all engines alike, in test_matches.py and test_corpora.py.
"""

import pickle
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from lxml import etree

from winnow import Matcher
from winnow.arrays.stamped import Stamped
from winnow.encoding import EncodedBatch, Encoder, PathTable, Vocabulary
from winnow.engines import create
from winnow.engines.automata import buff_read
from winnow.engines.automata.filtering import FilteringEngine
from winnow.engines.base import Matches
from winnow.engines.verification.verify import Verifier
from winnow.xpath import Kind, Node, Op, Pattern, compile_profile
from winnow.xpath.reference import pattern_holds, read
from xpath_strategies import document

from .test_boxfilter import patterns_of
from .test_corpora import article_profile, articles, invoice_profiles, invoices
from .test_matches import SEEDS
from .truth import NIGHTLY, Profile, assert_same, pairs_of, taken, truth

BY_LINE = ("nfa", "buff", "xfilter")  # a test is asked at the end of a line of its own
NAMES = (*BY_LINE, "xtrie", "xtrie-eager", "wfilter")


def build(name: str, *xpaths: str) -> FilteringEngine:
    engine = create(name, Vocabulary(), PathTable())
    assert isinstance(engine, FilteringEngine)
    engine.add(pattern for xpath in xpaths for pattern in compile_profile(xpath).alternatives)
    return engine


def encode(engine: FilteringEngine, *documents: bytes) -> EncodedBatch:
    return Encoder(engine.store.vocabulary, engine.paths).encode(list(documents), values=True)


def stats(name: str, xpaths: list[str], *documents: bytes) -> dict[str, int]:
    engine = build(name, *xpaths)
    engine.match(encode(engine, *documents))
    return engine.stats


# -- candidates


def conditions(pattern: Pattern) -> Iterator[Pattern]:
    """The lines of a pattern, each as a pattern: to its tests, and to leaves without."""

    def line(nodes: list[Node]) -> Pattern:
        chain: tuple[Node, ...] = ()
        for node in reversed(nodes):
            chain = (node._replace(children=chain, first=False),)
        return Pattern(chain)

    def walk(node: Node, above: list[Node]) -> Iterator[Pattern]:
        bare = node._replace(tests=())
        tests = [test for test in node.tests if test.op not in {Op.NE, Op.NUM_NE}]
        yield from (line([*above, node._replace(tests=(test,))]) for test in tests)
        if not node.children and not tests:
            yield line([*above, bare])
        for child in node.children:
            yield from walk(child, [*above, bare])

    for child in pattern.children:
        yield from walk(child, [])


@pytest.mark.parametrize("seed", SEEDS)
def test_candidates_are_those_of_the_twin(seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(4)]
    patterns = patterns_of(r, 30)
    expected: dict[tuple[int, Pattern], bool] = {}
    for d, content in enumerate(documents):
        doc = read(etree.fromstring(content))
        for pattern in patterns:
            is_candidate = all(pattern_holds(line, doc) for line in conditions(pattern))
            expected[d, pattern] = is_candidate
            assert is_candidate or not pattern_holds(pattern, doc), (pattern, content)
    for name in BY_LINE:
        engine = build(name)
        ids = engine.add(patterns).tolist()  # an ordered and an unordered line are one pattern
        found = engine.find(encode(engine, *documents))
        rows = [(int(d), int(p)) for d, p in (*found.matches[:, :2], *found.candidates)]
        assert len(rows) == len(set(rows)) == engine.stats["candidates"]
        for d in range(len(documents)):
            for p, pattern in zip(ids, patterns, strict=True):
                assert ((d, p) in rows) == expected[d, pattern], (name, pattern, documents[d])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_the_index_decides_has_the_witness_of_the_verification(name: str, seed: int) -> None:
    r = Random(seed)
    engine = build(name)
    engine.add(pattern for pattern in patterns_of(r) if not any(map(has_text, pattern.children)))
    batch = encode(engine, *(document(r).encode() for _ in range(8)))
    matches = engine.find(batch).matches
    assert (
        matches[:, 2].tolist()
        == Verifier(engine.store, engine.paths).verify(batch, matches[:, 0], matches[:, 1]).tolist()
    )
    assert len(matches)


def has_text(node: Node) -> bool:
    """In place of text the witness is an element around it, which of them is not said."""
    return node.kind is Kind.TEXT or any(map(has_text, node.children))


# -- counts


def test_lines_that_begin_alike_share_states_top_down() -> None:
    assert stats("nfa", ["/a/b/c", "/a/b/d", "/a/b"], b"<a/>")["states"] == 1 + 4
    assert stats("nfa", ["//b/a", "//c/a"], b"<a/>")["states"] == 1 + 1 + 4
    assert stats("nfa", ["/a//b", "/a//c", "/a/*"], b"<a/>")["states"] == 1 + 1 + 1 + 3


def test_lines_that_end_alike_share_states_bottom_up() -> None:
    assert stats("buff", ["//b/a", "//c/a", "//a"], b"<a/>")["states"] == 1 + 3
    assert stats("buff", ["/a/b/c", "/a/b/d"], b"<a/>")["states"] == 1 + 6
    assert stats("buff", ["/a/b", "//a/b"], b"<a/>")["states"] == 1 + 2  # the same but for the check of the root


def test_machines_share_nothing() -> None:
    counts = stats("xfilter", ["/a/b/c", "/a/b/d", "/a/*/c", "//b[c][d]"], b"<a/>")
    assert (counts["machines"], counts["states"]) == (5, 3 + 3 + 2 + 2 + 2)


def test_machines_wait_in_the_shortest_list() -> None:
    """List balance: all lines begin with `a`; without it every machine would wait for that."""
    labels = "bcdefghij"
    engine = build("xfilter", *(f"/a/{x}/{y}" for x in labels for y in labels))
    content = b"<a><b/></a>"
    engine.match(encode(engine, content))
    assert engine.stats["comparisons"] <= 2 * (len(labels) ** 2 // 10 + 1)


def test_bottom_up_enters_fewer_states_where_leaves_are_selective() -> None:
    """BUFF, Figure 3: eleven paths a-b-c, the last of which has a `d`."""
    xpaths = ["//a//b//c//d", "//a//b//c//e"]
    content = b"<r>" + 10 * b"<a><b><c/></b></a>" + b"<a><b><c><d/></c></b></a></r>"
    down, up = stats("nfa", xpaths, content), stats("buff", xpaths, content)
    assert down["moves"] == 11 * 3 + 1
    assert up["moves"] == 4
    assert down["candidates"] == up["candidates"] == 1


@pytest.mark.parametrize("name", NAMES)
def test_values_prune_before_verification(name: str) -> None:
    xpaths = [f"/a[b = {n}]/c" for n in range(50)] + [f"//a[@x > {n}]" for n in range(50)]
    counts = stats(name, xpaths, b"<a x='9.5'><b>7</b><c/></a>")
    assert counts["candidates"] == 1 + 10


@pytest.mark.parametrize("name", NAMES)
def test_a_test_above_a_leaf_does_not_stand_for_the_leaf(name: str) -> None:
    assert stats(name, ["//a[. = 'x']/b", "//a[. = 'x']/@k"], b"<a>x</a>")["candidates"] == 0


def test_values_stop_the_bottom_up_automaton_at_the_leaf() -> None:
    xpaths = [f"/a/b/c[@k = 'v{n}']" for n in range(100)]
    assert stats("buff", xpaths, b"<a><b><c k='v7'/><c k='w'/></b></a>")["moves"] == 2 + 4


# -- growth


@pytest.mark.parametrize("name", ["nfa", "buff"])
def test_an_automaton_is_extended_not_rebuilt(name: str) -> None:
    r = Random(3)
    patterns = patterns_of(r, 60)
    whole, grown = build(name), build(name)
    whole.add(patterns)
    batch = encode(grown, document(r).encode())
    sizes = [0]
    for pattern in patterns:
        grown.add([pattern])
        grown.find(batch)
        sizes.append(grown.stats["states"])
    whole.find(encode(whole, b"<a/>"))
    assert sizes == sorted(sizes)
    for count in ("states", "transitions", "loops", "conditions"):
        assert grown.stats[count] == whole.stats[count]
    extended = build(name, "//a/b/c")
    extended.find(encode(extended, b"<a/>"))
    before = extended.stats["states"]
    extended.add(compile_profile("//a/b/c/d" if name == "nfa" else "//z/a/b/c").alternatives)
    extended.find(encode(extended, b"<a/>"))
    assert extended.stats["states"] == before + 1


def test_retired_machines_wait_no_more() -> None:
    engine = build("xfilter", *(f"//a[@x > {n}]" for n in range(20)))
    batch = encode(engine, b"<r>" + 5 * b"<a x='3'/>" + b"</r>")
    engine.find(batch)
    before = engine.stats["comparisons"]
    engine.retire(np.arange(10, dtype=np.int32))
    engine.find(batch)
    assert engine.stats["comparisons"] < before
    assert engine.stats["candidates"] == 0


# -- hostile shapes


def check(documents: list[bytes], xpaths: list[str]) -> None:
    profiles: list[Profile] = [(str(n), xpath, {}, False) for n, xpath in enumerate(xpaths)]
    expected = truth(profiles, documents)
    for name in NAMES:
        matcher = Matcher(profiles, engine=name)
        assert not matcher.rejected
        for _ in range(2):
            assert_same(pairs_of(matcher, documents), expected, profiles, documents)


def test_deep_and_recursive() -> None:
    r = Random(11)
    documents = []
    for depth in (60, 70, 130, 240):
        labels = [r.choice("aab") for _ in range(depth)]
        documents.append(("".join(f"<{x}>" for x in labels) + "t" + "".join(f"</{x}>" for x in labels[::-1])).encode())
    xpaths = ["//a" * n + "//b" * m for n in range(8) for m in range(4) if n + m]
    xpaths += ["/*" * n + "/a" for n in (1, 59, 63, 64, 65, 100)] + ["//*" * n for n in (30, 50, 60)]
    xpaths += ["//a/a/a/b//b/a", "//b/b/b/b", "/a//a/*/b/text()", "//a[b/b][a/a]//b[. = 't']", "//b/*/*/b//text()"]
    check(documents, xpaths)


@pytest.mark.parametrize("name", NAMES)
def test_instances_do_not_explode(name: str) -> None:
    """There are C(200, 20) ways to find `//a//a…` among 200 nested `a`."""
    content = b"<a>" * 200 + b"</a>" * 200
    counts = stats(name, ["//a" * 20 + "/b", "//a" * 20, "//a/*" * 10 + "//b"], content)
    assert counts["candidates"] == 1
    assert counts["comparisons"] < 200 * 200 * 60


def test_wide() -> None:
    """The lists of the bottom-up automaton are freed of what siblings repeat."""
    r = Random(12)
    rows = [f"<row k='{r.randrange(9)}'><a><b>{r.randrange(9)}</b></a>t</row>" for _ in range(800)]
    content = f"<r>{''.join(rows)}</r>".encode()
    assert 10 * len(rows) > buff_read._CROWDED
    xpaths = [f"{top}row{way}b[. > {n}]" for top in ("//", "/r/", "/*/") for way in ("/a/", "//") for n in range(10)]
    check([content], [*xpaths, "//row/text()", "//r//b/text()", "/r/row[a/b = 10]", "//@k[. = 8]", "//*/@*"])


def test_many_tests_of_every_kind_on_one_line() -> None:
    r = Random(13)

    def word(low: int, high: int) -> str:
        return "".join(r.choices("abc1", k=r.randint(low, high)))

    tests = ["{} = '{w}'", "{} != '{w}'", "contains({}, '{w}')", "starts-with({}, '{w}')"]
    tests += [f"{{}} {op} {{n}}" for op in ("=", "!=", "<", "<=", ">", ">=")]
    xpaths = []
    for _ in range(300):
        test = r.choice(tests).format(r.choice((".", "@k", "q")), w=word(1, 3), n=r.randrange(-2, 12))
        xpaths.append(r.choice(("//p[{}]", "//p[{}][q]", "/r/p[{}]/q")).format(test))

    def paragraph() -> str:
        key, text = r.choice((word(0, 4), str(r.randrange(12)))), r.choice((word(0, 5), "7"))
        return f"<p k='{key}'>{text}<q>{r.randrange(12)}</q></p>"

    paragraphs = [paragraph() for _ in range(60)]
    check([f"<r>{''.join(paragraphs[k : k + 3])}</r>".encode() for k in range(0, 60, 3)], sorted(set(xpaths)))


def test_a_needle_is_found_again_in_the_next_batch() -> None:
    """Values are numbered in each batch anew, and each needle here is in one value."""
    check([f"<p>x{n}.</p>".encode() for n in range(20)], [f"//p[contains(., 'x{n}.')]" for n in range(20)])


def test_labels_that_no_pattern_has() -> None:
    check([b"<z y='1'><x><w/></x><a/></z>", b"<a/>"], ["//a", "//*/*/*", "//@*", "/v//u"])


# -- real documents


@pytest.mark.corpora
def test_invoices(corpora: Path) -> None:
    profiles = invoice_profiles(corpora)
    documents = invoices(corpora) if NIGHTLY else Random(9).sample(invoices(corpora), 4)
    profiles = taken(Matcher(profiles, engine=NAMES[0]), profiles)
    expected = truth(profiles, documents)
    for name in NAMES:
        assert_same(pairs_of(Matcher(profiles, engine=name), documents), expected, profiles, documents)


@pytest.mark.corpora
def test_articles(corpora: Path) -> None:
    r = Random(10)
    documents = articles(corpora) if NIGHTLY else r.sample(articles(corpora), 60)
    profiles = [(str(n), article_profile(etree.fromstring(r.choice(documents)), r), {}, False) for n in range(300)]
    expected = truth(profiles, documents)
    for name in NAMES:
        assert_same(pairs_of(Matcher(profiles, engine=name), documents), expected, profiles, documents)


# -- memory between calls


@pytest.mark.parametrize("name", NAMES)
def test_stamps_begin_anew_before_they_run_out(name: str) -> None:
    r = Random(14)
    engine = build(name)
    engine.add(patterns_of(r))
    batch = encode(engine, *(document(r).encode() for _ in range(6)))
    expected = rows_of(engine.match(batch))
    stamps = [part for part in vars(engine).values() if isinstance(part, Stamped)]
    assert stamps
    for part in stamps:
        part.last = 2**31 - 10
    for _ in range(2):
        assert rows_of(engine.match(batch)) == expected


def rows_of(matches: Matches) -> list[tuple[int, ...]]:
    return sorted(zip(*(column.tolist() for column in matches[:3]), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_engines_travel(name: str) -> None:
    r = Random(15)
    documents = [document(r).encode() for _ in range(6)]
    matcher = Matcher([("a", "//a[@x = 1]"), ("b", "//b//text()"), ("c", "/*[a][b]")], engine=name)
    first = pairs_of(matcher, documents)
    other = pickle.loads(pickle.dumps(matcher))
    other.add([("d", "//c")])
    matcher.add([("d", "//c")])
    assert pairs_of(other, documents) == pairs_of(matcher, documents) > first
