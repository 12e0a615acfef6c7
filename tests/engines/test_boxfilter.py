"""Engine `boxfilter`: its candidates against a naive twin, and what whole-twig sequences would lose.

That its matches are those of lxml is shown, for all engines alike, in test_matches.py.
"""

from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from winnow import Matcher
from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.engines import create
from winnow.engines.boxfilter import engine as boxfilter
from winnow.engines.boxfilter.engine import BatchBoxFilter, BoxFilter
from winnow.envelope import check_invariants
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT
from winnow.xpath import Axis, Kind, Node, Pattern, Rejected, compile_profile
from winnow.xpath.reference import pattern_holds, read
from xpath_strategies import NAMESPACES, document

from .test_corpora import article_profile, articles, invoice_profiles, invoices
from .test_matches import CASES, MAKERS, SEEDS, make
from .truth import NIGHTLY, assert_same, pairs_of, taken, truth

MODES = ("boxfilter", "b-boxfilter")
Sequence = tuple[str, ...]


# -- the naive twin


def stays(node: Node | Pattern, ordered: bool) -> list[Node]:
    """The children that stay in the piece of their parent, in the order that is certain."""
    elements = [child for child in node.children if child.kind is Kind.ELEMENT]
    attributes = [child for child in node.children if child.kind is Kind.ATTRIBUTE]
    near = [child for child in attributes if child.axis is Axis.CHILD][:1]
    if ordered and len([child for child in node.children if child.kind is not Kind.ATTRIBUTE]) > 1:
        chosen = [child for n, child in enumerate(elements, start=1) if child.axis is Axis.CHILD or n == len(elements)]
    else:
        chosen = elements[:1]
    return near + chosen or attributes[:1]


def label(node: Node) -> str:
    return ("@" if node.kind is Kind.ATTRIBUTE else "") + (node.label or "*")


def written(node: Node, ordered: bool) -> Sequence:
    kept = stays(node, ordered)
    return tuple(part for child in kept for part in (*written(child, ordered), label(node))) or (label(node),)


def sequences(pattern: Pattern) -> set[Sequence]:
    found: set[Sequence] = set()

    def walk(node: Node | Pattern, above: Sequence) -> None:
        kept = stays(node, pattern.ordered) if isinstance(node, Node) else []
        for child in node.children:
            if child.kind is not Kind.TEXT:
                if not any(child is other for other in kept):
                    found.add(written(child, pattern.ordered) + above)
                walk(child, (label(child), *above))

    walk(pattern, ())
    return found or {()}


def pruefer(element: etree._Element) -> Sequence:
    """BoXFilter §2, Algorithm 1."""
    tag = str(element.tag)
    parts = [(f"@{name}", tag) for name in element.attrib]
    parts += [(*pruefer(child), tag) for child in element if isinstance(child.tag, str)]
    return tuple(part for written in parts for part in written) or (tag,)


def lies_in(query: Sequence, data: Sequence) -> bool:
    rest = iter(data)
    return all(any(meets(asked, given) for given in rest) for asked in query)


def meets(asked: str, given: str) -> bool:
    return asked == given or (asked in {"*", "@*"} and asked.startswith("@") == given.startswith("@"))


# -- the engines


def patterns_of(r: Random, of_each_kind: int = 40) -> list[Pattern]:
    patterns: list[Pattern] = []
    for _, xpath, namespaces, ordered in [row for kind in MAKERS for row in make(kind, of_each_kind, r)]:
        try:
            patterns += compile_profile(xpath, namespaces, ordered=ordered).alternatives
        except Rejected:
            continue
    return list(dict.fromkeys(patterns))


def build(mode: str) -> BoxFilter | BatchBoxFilter:
    engine = create(mode, Vocabulary(), PathTable())
    assert isinstance(engine, BoxFilter | BatchBoxFilter)
    return engine


def candidates(engine: BoxFilter | BatchBoxFilter, documents: list[bytes]) -> list[tuple[int, int]]:
    """Pairs of document and pattern id, ascending by document within each part."""
    batch = Encoder(engine.store.vocabulary, engine.paths).encode(documents, values=True)
    parts = list(engine.candidates(batch))
    assert all((np.diff(rows[:, 0]) >= 0).all() for rows in parts)
    return sorted((int(d), int(p)) for rows in parts for d, p in rows)


def check(mode: str, documents: list[bytes], patterns: list[Pattern]) -> None:
    """Candidates are exactly those of the twin, and all that match are among them."""
    engine = build(mode)
    ids = engine.add(patterns).tolist()  # an ordered and an unordered line are one pattern
    found = candidates(engine, documents)
    assert len(found) == len(set(found))
    for d, content in enumerate(documents):
        root = etree.fromstring(content)
        whole, doc = pruefer(root), read(root)
        for p, pattern in zip(ids, patterns, strict=True):
            expected = all(lies_in(sequence, whole) for sequence in sequences(pattern))
            assert ((d, p) in found) == expected, (pattern, content)
            assert expected or not pattern_holds(pattern, doc), (pattern, content)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", SEEDS)
def test_candidates_are_those_of_the_twin_and_hold_all_matches(mode: str, seed: int) -> None:
    r = Random(seed)
    check(mode, [document(r).encode() for _ in range(8)], patterns_of(r))


@pytest.mark.parametrize("mode", MODES)
@CASES
@given(r=st.randoms(use_true_random=False))
def test_a_lost_candidate_would_be_small(mode: str, r: Random) -> None:
    check(mode, [document(r, 3).encode()], patterns_of(r, 2))


@pytest.mark.parametrize("mode", MODES)
def test_documents_searched_in_groups(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    r = Random(1)
    patterns = patterns_of(r)
    documents = [document(r, 2).encode() for _ in range(70)]
    documents[33] = b"<not xml"
    engine = build(mode)
    engine.add(patterns)
    whole = candidates(engine, documents)
    monkeypatch.setattr(boxfilter, "_AT_ONCE", 32)
    assert candidates(engine, documents) == whole
    assert whole
    assert 33 not in {d for d, _ in whole}


@pytest.mark.parametrize("seed", SEEDS)
def test_both_modes_give_the_same(seed: int) -> None:
    r = Random(seed)
    profiles = [row for kind in MAKERS for row in make(kind, 40, r)]
    documents = [document(r).encode() for _ in range(40)]
    sequential, batch = (Matcher(profiles, engine=mode) for mode in MODES)
    assert list(sequential.match(documents)) == list(batch.match(documents))  # witnesses, too
    one_by_one, grouped = (matcher.funnel._replace(node_pairs=0, leaf_pairs=0) for matcher in (sequential, batch))
    assert one_by_one == grouped
    assert sequential.funnel.node_pairs > batch.funnel.node_pairs > 0
    assert 0 < sequential.funnel.leaf_pairs <= batch.funnel.leaf_pairs  # envelopes look at one document at a time
    assert isinstance(sequential.engine, BoxFilter)
    compared = sequential.engine.compared
    assert 0 < compared.candidates <= compared.leaf_pairs
    assert 0 < compared.results <= sequential.funnel.candidates  # which has those of hybrid profiles, too


@pytest.mark.parametrize(
    ("xpath", "ordered", "expected"),
    [
        ("/a/b//c", False, {"c b a"}),
        ("//a[b]/c", False, {"b a", "c a"}),
        ("//a[b]/c", True, {"b a c a"}),
        ("//a[b[c][d]]/e/f", True, {"c b d b a f e a"}),
        ("/a[.//b]/c", True, {"b a", "c a"}),
        ("/a[b]//c", True, {"b a c a"}),
        ("//a[@x]/b", False, {"@x a b a"}),
        ("//a[@x][@y]/b", False, {"@x a b a", "@y a"}),
        ("//a[.//@x]/b", False, {"@x a", "b a"}),
        ("//a//@*", False, {"@* a"}),
        ("//a[b = 'v']/text()", False, {"b a"}),
        ("//a/text()", False, {"a"}),
        ("//text()", False, {""}),
        ("//a[b]/text()", True, {"b a"}),
        ("//a and //b", False, {"a", "b"}),
        ("//a[not(b)]/*", False, {"* a"}),
        ("/", False, {""}),
    ],
)
def test_sequences(xpath: str, ordered: bool, expected: set[str]) -> None:
    (pattern,) = compile_profile(xpath, ordered=ordered).alternatives
    engine = build("boxfilter")
    engine.add([pattern])
    table = engine.index.sequences
    runs = [table.pool[start:stop].tolist() for start, stop in pairwise(table.offsets)]
    names = {ANY_ELEMENT: "*", ANY_ATTRIBUTE: "@*"}
    words = engine.store.vocabulary
    assert {" ".join(names.get(s) or words.label(abs(s)) for s in run) for run in runs} == expected
    assert {" ".join(sequence) for sequence in sequences(pattern)} == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("xml", "xpath", "ordered"),
    [
        ("<a><c/><b/></a>", "//a[b]/c", False),
        ("<a><b/></a>", "//a[b]/*", False),
        ("<a><b><c/></b></a>", "//a[.//c]/b", False),
        ("<a><b><c/></b></a>", "//a[b/c][b]", False),
        ("<a y='' x=''/>", "//a[@x][@y]", False),
        ("<a><b x=''/></a>", "//a[.//@x]/b", False),
        ("<a x=''><b/></a>", "//a[b]/@x", False),
        ("<a><c><b/></c></a>", "/a[.//b]/c", True),
        ("<a><c><e/><b><d/></b></c></a>", "/a[.//b/d]/c/e", True),
        ("<a>t<b/></a>", "/a[text()]/b", True),
        ("<a x=''><b/><c/></a>", "/a[b][c]/@x", True),
    ],
)
def test_what_a_whole_twig_sequence_would_lose(mode: str, xml: str, xpath: str, ordered: bool) -> None:
    matcher = Matcher([("p", xpath, {}, ordered)], engine=mode)
    assert [match.profile_id for match in matcher.match([xml.encode()])] == ["p"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_tree_follows_the_live_patterns(mode: str, seed: int) -> None:
    r = Random(seed)
    patterns = patterns_of(r)
    documents = [document(r).encode() for _ in range(4)]
    engine = build(mode)
    known: dict[int, Pattern] = {}
    for _ in range(5):
        added = r.sample(patterns, 40)
        known |= zip(engine.add(added).tolist(), added, strict=True)
        candidates(engine, documents)
        engine.retire(np.array(r.sample(sorted(known), len(known) // 2), np.int32))
        found = candidates(engine, documents)
        assert check_invariants(engine.index.tree) == []
        live = [p for p in known if engine.live[p]]
        fresh = build(mode)
        ids = dict(zip(fresh.add(known[p] for p in live).tolist(), live, strict=True))
        assert set(found) == {(d, ids[p]) for d, p in candidates(fresh, documents)}
        assert len(engine.index.tree) == len(fresh.index.tree)
    engine.retire(np.array(sorted(known), np.int32))
    assert candidates(engine, documents) == []


@pytest.mark.corpora
@pytest.mark.parametrize("mode", MODES)
def test_invoices(mode: str, corpora: Path) -> None:
    profiles = invoice_profiles(corpora)
    documents = Random(7).sample(invoices(corpora), 100 if NIGHTLY else 4)
    matcher = Matcher(profiles, engine=mode)
    profiles = taken(matcher, profiles)
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)


@pytest.mark.corpora
@pytest.mark.parametrize("mode", MODES)
def test_articles(mode: str, corpora: Path) -> None:
    r = Random(8)
    documents = r.sample(articles(corpora), 1000 if NIGHTLY else 60)
    profiles = [
        (f"p{n}", article_profile(etree.fromstring(r.choice(documents)), r), NAMESPACES, False) for n in range(300)
    ]
    matcher = Matcher(profiles, engine=mode)
    assert_same(pairs_of(matcher, documents), truth(profiles, documents), profiles, documents)
