"""The cost bound: what it says, and that what passes is quick on documents made to be slow."""

import time
from random import Random

import pytest
from lxml import etree

from winnow.xpath import Class, Rejected, compile_profile
from winnow.xpath.cost import degree
from winnow.xpath.existential import existential
from winnow.xpath.libxml2 import Evaluator
from winnow.xpath.parser import parse
from xpath_strategies import NAMESPACES, profile

DEGREES = [
    ("//a[not(b[not(.//c)])]", 1),
    ("//a[position() = last()]", 1),
    ("//a[preceding-sibling::b]", 2),
    ("//a/following-sibling::b", 2),
    ("//a/following-sibling::b = 5", 2),
    ("//a[@x = //b/@y]", 2),
    ("//a[@x = preceding::a/@x]", 2),
    ("//a[b = c]", 2),
    ("//a[count(. | //b) = count(//b)]", 2),
    ("//a[string(following-sibling::b) = 'x']", 2),
    ("//a[string(preceding-sibling::b) = 'x']", 3),
    ("//a[string(preceding-sibling::b[1]) = 'x']", 2),
    ("//a[not(preceding-sibling::b)]", 2),
    ("//a[(preceding::b)[1]/c]", 3),
    ("//a[../b = ../c]", 3),
    ("//a[../b[../c]]", 3),
    ("//a[//b[//c]]", 1),  # what is the same for every node is asked once
    ("count(//a/following-sibling::b) = 1", 3),
    ("//a[preceding::b/following::c]", 3),
    ("count(//*[count(//*[count(//*) > 0]) > 0])", 3),
    ("//a[../b[../c[../d]]]", 4),
]


@pytest.mark.parametrize(("xpath", "power"), DEGREES)
def test_degree(xpath: str, power: int) -> None:
    assert degree(existential(parse(xpath).tree))[0] == power


def test_native_profiles_have_no_cost() -> None:
    assert compile_profile("//a[../b[../c]]").klass is Class.NATIVE
    with pytest.raises(Rejected) as caught:
        compile_profile("//a[../b[not(../c)]]")
    assert (caught.value.code, caught.value.column) == ("cost_limit", 14)


SLOW = [
    "<a>" + "<a x='1'>x</a><b y='2'/><c>1</c>" * 200 + "</a>",
    "<a>" + ("<a x='1'><b y='2'><c>" * 3 + "1" + "</c></b></a>" * 3) * 66 + "</a>",
    "<a>" + ("<a x='1'>" * 200 + "</a>" * 200) * 3 + "</a>",
]


def test_what_passes_is_quick() -> None:
    r = Random(3)
    documents = [etree.fromstring(text) for text in SLOW]
    asked = 0
    while asked < 150:
        try:
            compiled = compile_profile(profile(r), NAMESPACES)
        except Rejected:
            continue
        if compiled.klass is Class.NATIVE:
            continue
        asked += 1
        evaluator = Evaluator(compiled.text, compiled.namespaces)
        for document in documents:
            start = time.process_time()
            evaluator(document)
            assert time.process_time() - start < 1, compiled.text


@pytest.mark.parametrize(
    ("xpath", "asked"),
    [
        ("//a[not(preceding-sibling::b)]", "//a[not(preceding-sibling::b[1])]"),
        ("//a/following-sibling::b[c]/d", "//a[following-sibling::b[c][d][1]]"),
        ("//a[preceding::b/@x > 5]", "//a[preceding::b[@x > 5][1]]"),
        ("//a[following::b = 'x']", "//a[following::b[. = 'x'][1]]"),
        ("//a[count(preceding::b) > 5]", "//a[count(preceding::b) > 5]"),
    ],
)
def test_truth_asks_for_the_nearest_only(xpath: str, asked: str) -> None:
    """libxml2 sorts what a function is given: two powers for what is not in document order."""
    assert compile_profile(xpath).text == asked
