"""Engine `wfilter`: expressions and candidates of a naive twin, the paper's examples, clusters, and deep documents.

That its matches are those of lxml is shown, for all engines alike, in test_matches.py, test_corpora.py and
test_filtering.py.
"""

import pickle
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from lxml import etree

from winnow import Matcher
from winnow.encoding import EncodedBatch, Encoder, PathTable, Vocabulary
from winnow.engines.wfilter.clusters import Pool, rarest
from winnow.engines.wfilter.engine import WFilter
from winnow.patterns.runs import RunTable
from winnow.xpath import Axis, Kind, Node, Op, Pattern, compile_profile
from winnow.xpath.limits import DEFAULT_LIMITS
from winnow.xpath.reference import pattern_holds, read
from xpath_strategies import NAMESPACES, document, native_profile

from .test_boxfilter import patterns_of
from .test_matches import SEEDS
from .truth import Profile, assert_same, pairs_of, taken, truth


def build(*xpaths: str) -> WFilter:
    engine = WFilter(Vocabulary(), PathTable())
    engine.add(pattern for xpath in xpaths for pattern in compile_profile(xpath).alternatives)
    return engine


def encode(engine: WFilter, *documents: bytes) -> EncodedBatch:
    return Encoder(engine.store.vocabulary, engine.paths).encode(list(documents), values=True)


def found(engine: WFilter, *documents: bytes) -> set[tuple[int, int]]:
    found = engine.find(encode(engine, *documents))
    rows = [(int(d), int(p)) for d, p in (*found.matches[:, :2], *found.candidates)]
    assert len(rows) == len(set(rows)) == engine.stats["candidates"]
    return set(rows)


def check(documents: list[bytes], xpaths: list[str]) -> None:
    profiles: list[Profile] = [(str(n), xpath, {}, False) for n, xpath in enumerate(xpaths)]
    matcher = Matcher(profiles, engine="wfilter")
    assert not matcher.rejected
    expected = truth(profiles, documents)
    for _ in range(2):
        assert_same(pairs_of(matcher, documents), expected, profiles, documents)


# -- candidates


def expressions(pattern: Pattern) -> Iterator[Pattern]:
    """The lines of a pattern, each as a pattern, with the tests on their way and of attributes and text beside it."""

    def indexed(node: Node) -> Node:
        return node._replace(tests=tuple(test for test in node.tests if test.op not in {Op.NE, Op.NUM_NE}), first=False)

    def is_beside(node: Node) -> bool:
        return node.axis is Axis.CHILD and node.kind is not Kind.ELEMENT and bool(indexed(node).tests)

    def apart(node: Node) -> list[Node]:
        return [node._replace(tests=(test,)) for test in indexed(node).tests]

    def walk(node: Node) -> Iterator[Node]:
        beside = tuple(test for child in node.children if is_beside(child) for test in apart(child))
        below = [line for child in node.children if not is_beside(child) for line in walk(child)]
        bare = indexed(node)
        yield from (bare._replace(children=(*beside, line)) for line in below)
        if not below:
            yield bare._replace(children=beside)

    for child in pattern.children:
        yield from (Pattern((line,)) for line in walk(child))


@pytest.mark.parametrize("seed", SEEDS)
def test_candidates_are_those_of_the_twin(seed: int) -> None:
    """But for what leaves with one label have together, since their events are one: these are candidates, too."""
    r = Random(seed)
    documents = [document(r).encode() for _ in range(4)]
    patterns = patterns_of(r, 30)
    engine = build()
    ids = engine.add(patterns).tolist()
    rows = found(engine, *documents)
    more, twins = 0, 0
    for d, content in enumerate(documents):
        doc = read(etree.fromstring(content))
        for p, pattern in zip(ids, patterns, strict=True):
            is_expected = all(pattern_holds(line, doc) for line in expressions(pattern))
            assert is_expected or not pattern_holds(pattern, doc), (pattern, content)
            assert (d, p) in rows or not is_expected, (pattern, content)
            more, twins = more + ((d, p) in rows and not is_expected), twins + is_expected
    assert more <= twins // 20


def test_tests_of_attributes_hold_together_on_the_way() -> None:
    """Three conditions for engines that take line by line, and all of them met; here it is one expression."""
    engine = build("/a[@x = 1]/b[@y = 2]/c", "/a[@x = 1]/b[@y = 2][d]/c")
    assert not found(engine, b"<a x='1'><b y='2'/><b><c/><d/></b></a>")
    assert found(engine, b"<a x='1'><b y='2'><c/></b><b y='2'><d/></b></a>") == {(0, 0), (0, 1)}
    assert engine.stats["conditions"] == 2


# -- the paper


def test_the_example_of_the_paper() -> None:
    """§4.3: `a` has a root predicate and one of its positions, `b` only the latter."""
    engine = build("/a/b", "/a//b", "//b/a")
    assert found(engine, b"<a><b/></a>") == {(0, 0), (0, 1)}
    assert engine.stats["predicates"] == 3
    assert engine.stats["events"] == 1


def test_positions_are_relative() -> None:
    """§4.1, Example 1: `/a//b/*/d` is pos_a = 0, pos_b > pos_a, pos_d = pos_b + 2."""
    engine = build("/a//b/*/d")
    yes = [b"<a><b><x><d/></x></b></a>", b"<a><x><b><b><y><d/></y></b></b></x></a>", b"<a><b><b><d/></b></b></a>"]
    no = [b"<a><b><d/></b></a>", b"<b><a><b><x><d/></x></b></a></b>", b"<a><d/><b><x><y><d/></y></x></b></a>"]
    assert found(engine, *yes, *no) == {(0, 0), (1, 0), (2, 0)}


def test_a_label_may_be_on_a_path_more_than_once() -> None:
    """The vector holds all positions, so it does not matter which one the next step goes on from."""
    engine = build("//a/b/a//c", "//a//a/c", "/a/a")
    assert found(engine, b"<a><x><a><b><a><y><c/></y></a></b></a></x></a>") == {(0, 0)}
    assert found(engine, b"<a><b><a><c/></a></b></a>") == {(0, 0), (0, 1)}


def test_leaves_below_one_element_are_one_event() -> None:
    engine = build("//r/a", "//r/b", "//r/*/a")
    assert found(engine, b"<r><a/><b/><c/><a/><d><a/></d></r>") == {(0, 0), (0, 1), (0, 2)}
    assert engine.stats["events"] == 2


def test_documents_with_the_same_paths_share_events() -> None:
    engine = build("//r/a")
    assert len(found(engine, *[b"<r><a/><b/></r>"] * 10)) == 10
    assert engine.stats["events"] == 1


# -- clusters


def test_the_access_predicate_is_the_rarest() -> None:
    items = RunTable()
    expressions = np.array([0, 4, 8, 4, 9, 0, 1], np.int32), np.array([0, 3, 5, 7])
    ids = items.add(*expressions).astype(np.int64)
    pool = Pool(items.pool, items.offsets)
    assert rarest(pool, ids, np.array([3.0, 2.0, 5.0])).tolist() == [1, 1, 0]
    assert rarest(pool, ids, np.array([1.0, 1.0, 1.0])).tolist() == [2, 2, 0]  # of equals the last


def test_expressions_of_one_size_and_access_predicate_are_a_cluster() -> None:
    engine = build("/r/x", "/s/x", "//r/y", "//r/s/y", "//s/r/y")
    found(engine, b"<z/>")
    assert engine.stats["clusters"] == 3
    engine.retire(np.array([2], np.int32))
    found(engine, b"<z/>")
    assert engine.stats["clusters"] == 2


def test_what_was_seen_makes_access_predicates_better() -> None:
    """All documents have an `a` as their leaf, hardly any an `x` on the way."""
    engine = build(*(f"//x{n}//a" for n in range(50)))
    documents = [f"<r><x{n % 3}><s><a/></s></x{n % 3}><s><a/></s></r>".encode() for n in range(6)]
    first = found(engine, *documents)
    before = engine.stats["comparisons"]
    assert found(engine, *documents) == first
    assert engine.stats["comparisons"] == 3
    assert before == 50 * engine.stats["events"]


def test_an_estimate_may_be_given() -> None:
    xpaths = [f"//x{n}//a" for n in range(50)]
    content = b"<r><x1><s><a/></s></x1></r>"
    neutral, told = build(*xpaths), build(*xpaths)
    told.prefer({told.store.vocabulary.add("a"): 1000})
    assert found(neutral, content) == found(told, content) == {(0, 1)}
    assert (neutral.stats["comparisons"], told.stats["comparisons"]) == (50, 1)


def test_values_give_access() -> None:
    engine = build(*(f"/r/a[@k = 'v{n}']/b" for n in range(100)), *(f"/r[@n > {n}]/a/b" for n in range(100)))
    assert found(engine, b"<r n='1.5'><a k='v7'><b/></a><a k='v8'/><a><b/></a></r>") == {(0, 7), (0, 100), (0, 101)}
    assert engine.stats["comparisons"] <= 10
    assert not found(engine, b"<r n='0'><a k='w'><b/></a></r>")
    assert engine.stats["comparisons"] == 0


# -- levels


def nested(labels: list[str], inside: str = "") -> bytes:
    return ("".join(f"<{x}>" for x in labels) + inside + "".join(f"</{x}>" for x in labels[::-1])).encode()


@pytest.mark.parametrize("depth", [62, 63, 64, 65, 66, 127, 128, 129, 130])
def test_at_the_ends_of_words(depth: int) -> None:
    labels = ["a"] * (depth - 3) + ["b", "c", "d"]
    inside = "<e k='1'/>t<f/>"
    xpaths = ["//b/c/d", "//a/b/c/d/e", "/a//b/*/d/f", "//d/text()", "//e/@k", "//a/d", "//c//f", "//d[e/@k = 1]/f"]
    xpaths += ["/*" * steps for steps in range(depth, depth + 3) if steps <= DEFAULT_LIMITS.steps]
    xpaths += ["//a//a/b//e[@k > 0]", "//b[c/d]//@k", "//e//d"]
    check([nested(labels, inside), nested(labels[1:], inside), nested(labels[:-1])], xpaths)


def test_random_lines_across_words() -> None:
    r = Random(21)
    documents = [nested(r.choices("aab", k=depth), "t") for depth in (3, 64, 70, 150, 240)]
    steps = ("/a", "/b", "//a", "//b", "/*", "//*")
    xpaths = sorted({"".join(r.choices(steps, k=r.randint(1, 12))) for _ in range(300)})
    check(documents, xpaths)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_documents_far_down(seed: int) -> None:
    """What is below the first word, with values, attributes and text on the way."""
    r = Random(seed)
    documents = []
    for _ in range(3):
        content = document(r)
        for _ in range(r.choice((r.randint(55, 66), r.randint(118, 131)))):
            beside, key = r.choice(("", "", "t", "<a/>", "<b k='1'>7</b>")), r.choice(("", " x='1'", " k='7'"))
            label = r.choice("abcd")
            content = f"<{label}{key}>{beside}{content}</{label}>"
        documents.append(content.encode())
    profiles: list[Profile] = [(str(n), native_profile(r), NAMESPACES, False) for n in range(60)]
    matcher = Matcher(profiles, engine="wfilter")
    profiles = taken(matcher, profiles)
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)


def test_thousands_of_levels() -> None:
    """Deeper than libxml2 reads, but not than its tree may be. What it would take long for is said by hand."""
    labels = [("a", "b", "c")[n % 3] for n in range(5000)]
    root = last = etree.Element(labels[0])
    for label in labels[1:]:
        last = etree.SubElement(last, label)
    etree.SubElement(last, "d", k="7")
    xpaths = ["//a/b/c/a", "//b/a", "//d[@k = 7]", "//b/d[@k > 6]", "//c/d", "//d//a", "/a/b/c/a/d"]
    expected = [n for n, xpath in enumerate(xpaths) if root.xpath(xpath)]
    expected += range(len(xpaths), len(xpaths) + 3)
    engine = build(*xpaths, "//c//b//a//d", "/a//c//@k", "//a//b//c//a//b//c//d[@k < 8]", "//d//c//a", "//c//d//@x")
    assert sorted(engine.match(encode(engine, nested(labels, "<d k='7'/>"))).patterns.tolist()) == expected
    assert len(expected) == 6


# -- growth


@pytest.mark.parametrize("seed", SEEDS)
def test_grown_shrunk_and_built_at_once(seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(5)]
    patterns = patterns_of(r, 20)
    whole, grown, rest = build(), build(), build()
    ids = np.unique(whole.add(patterns)).tolist()
    for start in range(0, len(patterns), 7):
        grown.add(patterns[start : start + 7])
        found(grown, documents[start % 5])
    assert found(grown, *documents) == found(whole, *documents)
    gone = r.sample(ids, len(ids) // 2)
    grown.retire(np.array(gone, np.int32))
    kept = {(d, p) for d, p in found(whole, *documents) if p not in gone}
    assert found(grown, *documents) == kept
    assert found(pickle.loads(pickle.dumps(grown)), *documents) == kept
    rest.add(pattern for p, pattern in zip(whole.add(patterns).tolist(), patterns, strict=True) if p not in gone)
    assert len(found(rest, *documents)) == len(kept)
