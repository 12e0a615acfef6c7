"""XTrie: the paper's decompositions, candidates of a naive twin, eager and lazy, order, growth, depth.

That its matches are those of lxml is shown, for all engines alike, in test_matches.py and test_corpora.py.
"""

from random import Random

import numpy as np
import pytest
from lxml import etree

from winnow import Matcher
from winnow.encoding import PathTable, Vocabulary
from winnow.engines import create
from winnow.engines.xtrie.decompose import decompose
from winnow.engines.xtrie.engine import XTrie
from winnow.engines.xtrie.rows import LEAST, PARENT, ROW, TAIL
from winnow.engines.xtrie.trie import ALPHA, BETA, NODE, SUFFIX, TrieTable
from winnow.patterns.twigs import ANY_ELEMENT
from winnow.xpath import Axis, Kind, Node, Op, Pattern, compile_profile
from winnow.xpath.reference import Doc, candidates, pattern_holds, read
from winnow.xpath.values import holds
from xpath.test_xpath_ordered import CASES, in_order
from xpath_strategies import NAMESPACES, document, ordered_profile

from .test_boxfilter import patterns_of
from .test_filtering import build, encode, stats
from .test_matches import SEEDS
from .truth import Profile, assert_same, pairs_of, truth

NAMES = ("xtrie", "xtrie-eager")
LAZY = NAMES[0]

Row = tuple[str, str, int, int]  # the substring, that of its parent, the levels between (negative: at least), the tail


def rows_of(pattern: Pattern) -> list[Row]:
    """The simple decomposition of a pattern whose labels have one letter."""
    engine = create(LAZY, Vocabulary(), PathTable())
    engine.store.add([pattern])
    found = decompose(engine.store.twigs, 0, 1, engine.store.height, 0)
    rows = found.rows.reshape(-1, ROW)

    def text(row: int) -> str:
        labels = found.labels[found.ends[row] : found.ends[row + 1]].tolist()
        return "".join("*" if x == ANY_ELEMENT else engine.store.vocabulary.label(abs(x)) if x else "#" for x in labels)

    def above(row: int) -> str:
        return "" if rows[row, PARENT] < 0 else text(int(rows[row, PARENT]))

    return sorted((text(k), above(k), int(rows[k, LEAST]), int(rows[k, TAIL])) for k in range(len(rows)))


def compiled(xpath: str, *, ordered: bool = False) -> Pattern:
    return compile_profile(xpath, ordered=ordered).alternatives[0]


# -- decompositions


def test_figure_1() -> None:
    assert rows_of(compiled("//a//b[*/c]/d")) == [
        ("a", "", -1, 0),
        ("b", "a", -1, 0),
        ("bd", "b", 1, 0),
        ("c", "b", 2, 0),
    ]


def test_figure_2() -> None:
    """/a/b[c/d//e][g//e/f]//e/f, compiled to less: the minimal decomposition, and `ab` where it forks."""

    def step(label: str, *children: Node, axis: Axis = Axis.CHILD) -> Node:
        return Node(axis, Kind.ELEMENT, label, (), children)

    ef = step("e", step("f"), axis=Axis.DESCENDANT)
    branches = step("c", step("d", step("e", axis=Axis.DESCENDANT))), step("g", ef), ef
    assert rows_of(Pattern((step("a", step("b", *branches)),))) == [
        ("ab", "", 2, 0),
        ("abcd", "ab", 2, 0),
        ("abg", "ab", 1, 0),
        ("e", "abcd", -1, 0),
        ("ef", "ab", -2, 0),
        ("ef", "abg", -2, 0),
    ]


@pytest.mark.parametrize(
    ("xpath", "substrings"),
    [
        ("/a/a/b/c//a/b", ["aabc", "ab"]),
        ("//a/b[c/e]//b/c/d", ["ab", "abce", "bcd"]),
        ("//a/b[c//d]//b/c", ["ab", "abc", "bc", "d"]),
        ("//c/b//c/d//d", ["cb", "cd", "d"]),
    ],
)
def test_figure_3(xpath: str, substrings: list[str]) -> None:
    assert [row[0] for row in rows_of(compiled(xpath))] == substrings


def test_figure_3_trie() -> None:
    """α and β of the trie of all four; β also leads to nodes that nothing continues, see `xtrie_trie`."""
    substrings = ["aabc", "ab", "abce", "bcd", "abc", "d", "bc", "cb", "cd"]
    table = TrieTable()
    ends = np.cumsum([0, *map(len, substrings)])
    ids = table.add(np.array([ord(x) for x in "".join(substrings)], np.int32), ends)
    assert ids.tolist() == list(range(1, 10))
    nodes = table.trie().nodes.reshape(-1, NODE)
    assert len(table) == len(nodes) == 1 + len({s[: k + 1] for s in substrings for k in range(len(s))})
    node = {s: int(np.flatnonzero(nodes[:, ALPHA] == k + 1)[0]) for k, s in enumerate(substrings)}
    name = {n: s for s, n in node.items()} | {0: ""}
    assert {s: name[int(nodes[n, SUFFIX])] for s, n in node.items()} == {
        "aabc": "abc", "ab": "", "abce": "", "bcd": "cd", "abc": "bc", "d": "", "bc": "", "cb": "", "cd": "d",
    }  # fmt: skip
    assert nodes[node["aabc"], BETA] == node["abc"]
    assert nodes[nodes[node["bc"], BETA], ALPHA] == -1  # `c`, on the way to `cb` and `cd`
    assert nodes[node["d"], BETA] == nodes[node["abce"], BETA] == 0


@pytest.mark.parametrize(
    ("xpath", "rows"),
    [
        ("//a/*//*/b", [("a", "", -1, 0), ("b", "a", -3, 0)]),
        ("//a/*/*", [("a", "", -1, 2)]),
        ("/*/*", [("", "", 0, 2)]),
        ("/*[a]/b", [("", "", 0, 0), ("a", "", 2, 0), ("b", "", 2, 0)]),
        ("//a[*/*]/b", [("a", "", -1, 0), ("a", "a", 0, 2), ("ab", "a", 1, 0)]),
        ("/a[. = 'x']/b", [("a", "", 1, 0), ("a", "a", 0, 0), ("ab", "a", 1, 0)]),
        ("//a/*[. = 'x']", [("*", "a", 1, 0), ("a", "", -1, 0)]),
        ("//a/@k", [("a@k", "", -2, 0)]),
        ("//a//text()", [("#", "a", -1, 0), ("a", "", -1, 0)]),
    ],
)
def test_beyond_the_paper(xpath: str, rows: list[Row]) -> None:
    assert rows_of(compiled(xpath)) == rows


def test_children_in_order_end_substrings() -> None:
    assert rows_of(compiled("//a[.//b]/c/d", ordered=True)) == [
        ("a", "", -1, 0), ("ac", "a", 1, 0), ("acd", "ac", 1, 0), ("b", "a", -1, 0),
    ]  # fmt: skip


# -- candidates


def is_wild(node: Node) -> bool:
    return node.kind is Kind.ELEMENT and node.label is None


def split(node: Node) -> list[Node]:
    """Branches below a `*` need not meet in one element."""
    children = tuple(part for child in node.children for part in split(child))
    if is_wild(node) and len(children) > 1:
        return [node._replace(children=(child,)) for child in children]
    return [node._replace(children=children)]


def is_candidate(children: tuple[Node, ...], doc: Doc, *, ordered: bool) -> bool:
    """What the table keeps of a pattern, said again: order only between labels, tests only of some kinds."""
    parts = [part for child in children for part in split(child)]
    sortable = [node for node in parts if node.kind is not Kind.ATTRIBUTE]
    in_order = ordered and not any(is_wild(node) or node.kind is Kind.TEXT for node in sortable)
    last = -1
    for node in parts:
        found = [below.post for below in candidates(node, doc) if fits(node, below, ordered=ordered)]
        if in_order and node in sortable:
            found = [post for post in found if post > last]
            last = min(found, default=last)
        if not found:
            return False
    return True


def fits(node: Node, doc: Doc, *, ordered: bool) -> bool:
    tests = [test for test in node.tests if test.op not in {Op.NE, Op.NUM_NE}]
    if is_wild(node):
        tests = [] if node.children else tests[:1]
    is_passing = doc.fits(node) and all(holds(test, doc.value) for test in tests)
    return is_passing and is_candidate(node.children, doc, ordered=ordered)


@pytest.mark.parametrize("seed", SEEDS)
def test_candidates_are_those_of_the_twin(seed: int) -> None:
    r = Random(seed)
    documents = [document(r).encode() for _ in range(4)]
    patterns = patterns_of(r, 40)
    expected = {}
    for d, content in enumerate(documents):
        doc = read(etree.fromstring(content))
        for pattern in patterns:
            expected[d, pattern] = is_candidate(pattern.children, doc, ordered=pattern.ordered)
            assert expected[d, pattern] or not pattern_holds(pattern, doc), (pattern, content)
    for name in NAMES:
        engine = build(name)
        ids = engine.add(patterns).tolist()  # an ordered and an unordered line are one pattern
        found = engine.find(encode(engine, *documents))
        rows = [(int(d), int(p)) for d, p in (*found.matches[:, :2], *found.candidates)]
        assert len(rows) == len(set(rows)) == engine.stats["candidates"]
        assert isinstance(engine, XTrie)
        for left in (engine._last_entry, engine._last_meeting):
            assert (left.view == -1).all()  # nothing of one document is left for the next
        for d in range(len(documents)):
            for p, pattern in zip(ids, patterns, strict=True):
                assert ((d, p) in rows) == expected[d, pattern], (name, pattern, documents[d])


def labelled(r: Random, depth: int) -> str:
    """A twig that the paper can express."""
    step = r.choice("abc")
    while depth and r.random() < 0.5:
        depth -= 1
        step += f"[{r.choice(('', './/', '*/', './/*/'))}{labelled(r, depth)}]"
    return step if not depth or r.random() < 0.3 else step + r.choice(("/", "//", "/*/")) + labelled(r, depth - 1)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_paper_can_express_needs_no_verification(name: str) -> None:
    r = Random(16)
    engine = build(name, *("//" + labelled(r, 3) for _ in range(400)))
    batch = encode(engine, *(document(r, 5).encode() for _ in range(30)))
    funnel = engine.match(batch).funnel
    assert funnel.candidates == funnel.matches > funnel.verified > 100


@pytest.mark.parametrize("name", NAMES)
def test_order_between_labels_needs_no_verification(name: str) -> None:
    r = Random(17)
    xpaths = [x for x in ("//" + labelled(r, 3) for _ in range(600)) if "*" not in x]
    engine = build(name)
    engine.add(pattern for x in xpaths for pattern in compile_profile(x, ordered=True).alternatives)
    batch = encode(engine, *(document(r, 5).encode() for _ in range(30)))
    funnel = engine.match(batch).funnel
    assert funnel.candidates == funnel.matches > funnel.verified > 50


# -- order


@pytest.mark.parametrize("name", NAMES)
def test_order_is_that_of_the_brute_force(name: str) -> None:
    for seed in range(20):
        r = Random(seed)
        xpaths = {str(n): ordered_profile(r) for n in range(25)}
        documents = [document(r).encode() for _ in range(5)]
        matcher = Matcher([(n, xpath, NAMESPACES, True) for n, xpath in xpaths.items()], engine=name)
        docs = [read(etree.fromstring(content)) for content in documents]
        expected = {
            (d, n)
            for n, xpath in xpaths.items()
            for pattern in compile_profile(xpath, NAMESPACES, ordered=True).alternatives
            for d, doc in enumerate(docs)
            if in_order(pattern.children, doc)
        }
        assert pairs_of(matcher, documents) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("xml", "xpath", "expected"), CASES)
def test_meaning_of_order(name: str, xml: str, xpath: str, expected: bool) -> None:
    matcher = Matcher([("p", xpath, {}, True)], engine=name)
    assert bool(pairs_of(matcher, [xml.encode()])) is expected


# -- counts


def test_lazy_asks_less() -> None:
    r = Random(18)
    for _ in range(10):
        xpaths = ["//" + labelled(r, 3) for _ in range(100)]
        documents = [document(r, 5).encode() for _ in range(5)]
        lazy, eager = (stats(name, xpaths, *documents) for name in NAMES)
        assert lazy["probes"] <= eager["probes"]
        assert lazy["candidates"] == eager["candidates"]
        for count in ("trie_nodes", "substrings", "rows", "met"):
            assert lazy[count] == eager[count]


def test_lazy_does_not_look_up_what_ends_nothing() -> None:
    xpaths, content = ["//a//b//c"], b"<a>" + 20 * b"<b/>" + b"</a>"
    lazy, eager = (stats(name, xpaths, content) for name in NAMES)
    assert (lazy["probes"], lazy["comparisons"]) == (0, 0)
    assert eager["probes"] == 21


def test_substrings_are_shared_rows_are_not() -> None:
    counts = stats(LAZY, ["/a/b//c", "//a/b", "//x/*/a/b/c"], b"<a/>")
    assert (counts["substrings"], counts["rows"]) == (1 + 4, 2 + 1 + 2)
    assert counts["trie_nodes"] == 1 + 3 + 1 + 1  # ab, abc, c, x


@pytest.mark.parametrize("name", NAMES)
def test_retired_rows_are_not_looked_up(name: str) -> None:
    engine = build(name, *(f"//a/b[c = {n}]" for n in range(10)), *(f"//a//b{n}/*" for n in range(10)), "//a/b")
    batch = encode(engine, b"<a><b/><b><c>1</c></b></a>")
    assert engine.match(batch).funnel.matches == 2
    before = engine.stats["comparisons"]
    engine.retire(np.arange(20, dtype=np.int32))
    assert engine.match(batch).funnel.matches == 1
    assert engine.stats["comparisons"] < before
    rebuilt = build(name, "//a/b")
    rebuilt.match(encode(rebuilt, b"<a><b/><b><c>1</c></b></a>"))
    assert engine.stats["comparisons"] == rebuilt.stats["comparisons"]


# -- hostile shapes


def check(documents: list[bytes], profiles: list[Profile]) -> None:
    expected = truth(profiles, documents)
    for name in NAMES:
        matcher = Matcher(profiles, engine=name)
        assert not matcher.rejected
        for _ in range(2):
            assert_same(pairs_of(matcher, documents), expected, profiles, documents)


def nested(labels: list[str], inside: str = "") -> bytes:
    return ("".join(f"<{x}>" for x in labels) + inside + "".join(f"</{x}>" for x in labels[::-1])).encode()


def test_deep_twigs() -> None:
    """More entries of a row than levels in a machine word, and gaps that have to be tried again."""
    r = Random(19)
    documents = [nested([r.choice("aab") for _ in range(n)], "<c k='1'/><d/>t") for n in (20, 66, 90)]
    xpaths = ["//a[.//b]//c", "//a[b][.//d]//b[.//c]//a//c", "//b/b[a//c]//d", "//a[.//c/@k = 1][.//text()]/b"]
    xpaths += ["//a" * n + "[.//c][.//d]" for n in range(1, 5)] + ["/a[*/*/*]//b[a/a]/b", "//a/*/*/b[*]//c", "//b[c]"]
    xpaths += ["//a//b/a/b//b/a/a/c", "/*/*[.//b/b/b]//a/a/a", "//a[b]/a[b]", "//a[a/b]/a[a]"]
    check(documents, [(x, x, {}, False) for x in xpaths])
    ordered = [(x, x, {}, True) for x in xpaths]
    expected = pairs_of(Matcher(ordered), documents)
    assert len(expected) > 10
    for name in NAMES:
        assert pairs_of(Matcher(ordered, engine=name), documents) == expected


def test_several_tests_at_one_node() -> None:
    """Also at attributes and text, which have nothing below them; what they left behind must not help a sibling."""
    documents = [f"<r><a k='{n}'>{m}<b/>t</a><a k='{m}' l='{n}'/></r>".encode() for n in range(6) for m in range(6)]
    nodes = ("//a/@k", "//a/@*", "//a/text()", "//a", "//*", "//r/*/@*", "//text()")
    xpaths = [f"{node}[. > 1][. < {n}]" for node in nodes for n in (3, 4)] + ["//a[@k[. > 1][. < 4]][@l > 3]/b"]
    check(documents, [(x, x, {}, False) for x in xpaths])


def test_thousands_of_levels() -> None:
    depth = 5000
    labels = ["r", *("ab"[k % 7 == 3] for k in range(depth - 3)), "a", "c"]
    engines = [build(name) for name in NAMES]
    wanted = {
        "//a//b//a/c": True,
        "//b[.//c]//b/a": True,
        "/r" + "/*" * 100 + "/a//c": True,
        "//b" + "/*" * 110: True,
        "//c/*": False,
        "//a/c" + "/*" * 110: False,
        "//a[b]//a[.//b]//c": True,
        "//b/b//c": False,
        "//r/r//c": False,
        "//a/a/a/a/a/a/b//c": True,
        "//a/a/a/a/a/a/a/b//c": False,
    }
    for engine in engines:
        ids = [engine.add(compile_profile(xpath).alternatives)[0] for xpath in wanted]
        found = engine.match(encode(engine, nested(labels)))
        assert {x: i in found.patterns for x, i in zip(wanted, ids, strict=True)} == wanted


@pytest.mark.parametrize("name", NAMES)
def test_many_branches(name: str) -> None:
    """More children than a row has bits for: the rest is verified."""
    xpath = "/r" + "".join(f"[a{n}]" for n in range(100))
    whole = "".join(f"<a{n}/>" for n in range(100))
    documents = [f"<r>{whole}</r>".encode(), f"<r>{whole.replace('<a99/>', '')}</r>".encode(), b"<r><a0/></r>"]
    documents += [f"<r>{whole.replace(f'<a{n}/>', '')}</r>".encode() for n in range(0, 100, 9)]
    check(documents, [("p", xpath, {}, False), ("o", xpath, {}, True)])
    assert stats(name, [xpath], *documents)["rows"] == 1 + 62


def test_wide() -> None:
    """Entries and tails are given back when elements end."""
    r = Random(20)
    rows = [f"<row><a>{r.choice(('<b/>', '<b><c/></b>', ''))}</a>{r.choice(('<d/>', ''))}</row>" for _ in range(600)]
    xpaths = ["//row[a/b/*]/d", "//a/b/*/*", "//row/*/*/*", "//row[*/*]/d", "//row[a/b/c]/d", "//*[b/c][x]", "/r[x]//d"]
    check([f"<r>{''.join(rows)}</r>".encode()], [(x, x, {}, False) for x in xpaths])


# -- growth


@pytest.mark.parametrize("name", NAMES)
def test_growing_is_building_afresh(name: str) -> None:
    r = Random(21)
    patterns = patterns_of(r, 40)
    whole, grown = build(name), build(name)
    whole.add(patterns)
    documents = [document(r).encode() for _ in range(5)]
    for k in range(0, len(patterns), 7):
        grown.add(patterns[k : k + 7])
        grown.find(encode(grown, *documents[:2]))
    expected, got = whole.match(encode(whole, *documents)), grown.match(encode(grown, *documents))
    order = np.lexsort((expected.patterns, expected.documents)), np.lexsort((got.patterns, got.documents))
    for ours, theirs in zip(expected[:3], got[:3], strict=True):
        assert ours[order[0]].tolist() == theirs[order[1]].tolist()
    for count in ("trie_nodes", "substrings", "rows", "probes", "comparisons"):
        assert grown.stats[count] == whole.stats[count]
