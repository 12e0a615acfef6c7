"""Ordered profiles: the post-order meaning, against a reference that tries every assignment."""

from itertools import pairwise, product
from random import Random

import pytest
from lxml import etree

from winnow.xpath import Axis, Kind, Node, Rejected, compile_profile
from winnow.xpath.reference import Doc, pattern_holds, read
from winnow.xpath.values import holds
from xpath_strategies import NAMESPACES, document, ordered_profile


def assignments(node: Node, doc: Doc) -> list[Doc]:
    """Every document node that `node` may stand for below `doc`, by trying all choices for its children."""
    found = []
    for candidate in below(doc, deep=node.axis is Axis.DESCENDANT):
        fits = candidate.kind is node.kind and node.label in {None, candidate.label}
        if fits and all(holds(test, candidate.value) for test in node.tests) and in_order(node.children, candidate):
            found.append(candidate)
    return found


def in_order(children: tuple[Node, ...], doc: Doc) -> bool:
    choices = [assignments(child, doc) for child in children]
    sortable = [i for i, child in enumerate(children) if child.kind is not Kind.ATTRIBUTE]
    return any(all(chosen[i].post < chosen[j].post for i, j in pairwise(sortable)) for chosen in product(*choices))


def below(doc: Doc, *, deep: bool) -> list[Doc]:
    return [found for child in doc.children for found in (child, *(below(child, deep=True) if deep else ()))]


def test_reference_equals_brute_force() -> None:
    seen = {True: 0, False: 0}
    for seed in range(250):
        r = Random(seed)
        doc = read(etree.fromstring(document(r)))
        for _ in range(4):
            compiled = compile_profile(ordered_profile(r), NAMESPACES, ordered=True)
            for pattern in compiled.alternatives:
                wanted = in_order(pattern.children, doc)
                assert pattern_holds(pattern, doc) is wanted
                seen[wanted] += 1
    assert min(seen.values()) > 0.15 * sum(seen.values()), seen


def test_ordered_implies_unordered() -> None:
    for seed in range(150):
        r = Random(seed)
        tree = etree.fromstring(document(r))
        doc = read(tree)
        xpath = ordered_profile(r)
        ordered = compile_profile(xpath, NAMESPACES, ordered=True)
        if any(pattern_holds(pattern, doc) for pattern in ordered.alternatives):
            assert etree.XPath(f"boolean({xpath})", namespaces=NAMESPACES)(tree), xpath


CASES = [
    ("<a><b/><c/></a>", "/a[b]/c", True),
    ("<a><c/><b/></a>", "/a[b]/c", False),
    ("<a><b/></a>", "/a[b]/b", False),
    ("<a><b/><b/></a>", "/a[b]/b", True),
    ("<a><b/><c/><d/></a>", "/a[b and c]/d", True),
    ("<a><c/><b/><d/></a>", "/a[b][c]/d", False),
    ("<a><c/><b/><d/></a>", "/a[b or c]/d", True),
    # post-order: what is inside an element comes before it
    ("<a><c><b/></c></a>", "/a[.//b]/c", True),
    ("<a><b><c/></b></a>", "/a[b]//c", False),
    # attributes have no order; text does
    ("<a x='1'><b/></a>", "/a[b]/@x", True),
    ("<a x='1'><b/></a>", "/a[@x]/b", True),
    ("<a>t<b/></a>", "/a[b]/text()", False),
    ("<a>t<b/></a>", "/a[text() = 't']/b", True),
    # one root element: its conditions join, in the order they are written
    ("<a><b/><c/></a>", "/a/b and /a/c", True),
    ("<a><c/><b/></a>", "/a/b and /a/c", False),
]


@pytest.mark.parametrize(("xml", "xpath", "expected"), CASES)
def test_meaning(xml: str, xpath: str, expected: bool) -> None:
    doc = read(etree.fromstring(xml))
    compiled = compile_profile(xpath, ordered=True)
    assert any(pattern_holds(pattern, doc) for pattern in compiled.alternatives) is expected


@pytest.mark.parametrize(
    ("xpath", "column"),
    [
        ("//a[not(b)]", 9),
        ("//a[2]/b", 5),
        ("//a[contains(b, 'x')]", 14),
        ("//a[../b]", 5),
        ("//a[ancestor::b]", 5),
        ("//a[following-sibling::b]", 5),
        ("//a[b = c]", 7),
        ("//a[/b]", 5),
        ("//a and //b", 1),
    ],
)
def test_what_cannot_be_ordered(xpath: str, column: int) -> None:
    with pytest.raises(Rejected, match="ordered profile") as caught:
        compile_profile(xpath, ordered=True)
    assert (caught.value.code, caught.value.column) == ("not_ordered", column)
