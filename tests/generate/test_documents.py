"""Documents are valid, of the wanted size, within the depth bound, and the same for the same seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from winnow.errors import UsageError
from winnow.generate.documents import DocumentMaker, DocumentOptions, make_documents
from winnow.generate.dtd import Dtd, children, read_dtd
from winnow.generate.shapes import SHAPES, make_dtd
from winnow.generate.sources import dtds_of
from winnow.generate.values import Values

AWKWARD = """
<!ELEMENT a ((b, c?)+, (d | (e, f)*), ANYTHING?)>
<!ELEMENT b (#PCDATA | b | c)*> <!ELEMENT c EMPTY> <!ELEMENT d (d | c)> <!ELEMENT e (#PCDATA)> <!ELEMENT f (a?)>
<!ELEMENT ANYTHING ANY>
<!ELEMENT endless (endless)>
<!ATTLIST a x CDATA #REQUIRED y (p|q) "p" z ID #IMPLIED w NMTOKEN #FIXED "k&amp;l" r IDREFS #REQUIRED u ENTITY #IMPLIED>
<!ATTLIST e xml:lang NMTOKENS #IMPLIED>
"""
NAMESPACED = """
<!ELEMENT order (item+)> <!ATTLIST order xmlns CDATA #FIXED "urn:o" xmlns:p CDATA #FIXED "urn:p">
<!ELEMENT item (p:price)> <!ELEMENT p:price (#PCDATA)> <!ATTLIST p:price p:unit CDATA #REQUIRED>
"""


def depth(element: etree._Element) -> int:
    return 1 + max((depth(child) for child in element), default=0)


def documents_of(dtd: Dtd, count: int, **options: int) -> list[bytes]:
    maker = DocumentMaker(dtd, Values(), DocumentOptions(**options), seed=1)
    return [content for _, content in make_documents([maker], range(count))]


@pytest.mark.parametrize("name", SHAPES)
def test_documents_of_every_shape_are_valid_and_bounded(name: str) -> None:
    dtd = read_dtd(make_dtd(name), name=name)
    for elements, number in ((30, 10), (100, 10), (1000, 2)):
        contents = documents_of(dtd, number, elements=elements, depth=15)
        trees = [etree.fromstring(content) for content in contents]
        assert all(dtd.validator.validate(tree) for tree in trees), dtd.validator.error_log
        assert max(map(depth, trees)) <= 15
        assert len(set(contents)) == number
        sizes = [sum(1 for _ in tree.iter()) for tree in trees]
        assert 0.7 * elements < sum(sizes) / number < 1.4 * elements


@pytest.mark.parametrize("text", [AWKWARD, NAMESPACED])
@pytest.mark.parametrize("bound", [4, 5, 9])
def test_any_dtd(text: str, bound: int) -> None:
    dtd = read_dtd(text, name="any")
    contents = documents_of(dtd, 60, elements=40, depth=bound)
    for tree in map(etree.fromstring, contents):
        assert dtd.validator.validate(tree), dtd.validator.error_log
        assert depth(tree) <= bound
        assert not tree.xpath("//endless")


def test_shapes_differ() -> None:
    assert len(SHAPES) == 20
    dtds = [read_dtd(make_dtd(name), name=name) for name in SHAPES]
    assert len({name for dtd in dtds for name in dtd.elements}) == sum(shape.elements for shape in SHAPES.values())
    reached = [reachable(dtd) for dtd in dtds]
    assert reached == [set(dtd.elements) for dtd in dtds]  # no element is there for nothing
    recursive = [any(name in below(dtd, name) for name in dtd.elements) for dtd in dtds]
    assert recursive == [shape.recursion > 0 for shape in SHAPES.values()]


def below(dtd: Dtd, name: str) -> set[str]:
    found: set[str] = set()
    waiting = list(children(dtd.elements[name]))
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += children(dtd.elements[each])
    return found


def reachable(dtd: Dtd) -> set[str]:
    return {dtd.root} | below(dtd, dtd.root)


def test_news_is_as_large_as_nitf() -> None:
    (dtd,) = dtds_of(["news"])
    attributes = sum(len(element.attributes) for element in dtd.elements.values())
    assert len(dtd.elements) == 123
    assert 480 < attributes < 550
    assert sum(name in below(dtd, name) for name in dtd.elements) > 60


def test_values_are_skewed() -> None:
    (dtd,) = dtds_of(["values"])
    texts = [
        e.text for c in documents_of(dtd, 100) for e in etree.fromstring(c).iter() if e.text and not e.text.isspace()
    ]
    often = sorted((texts.count(text) for text in set(texts)), reverse=True)
    assert often[0] > 10 * often[len(often) // 2]


def test_same_seed_same_bytes_in_every_process() -> None:
    script = (
        "import sys, hashlib\n"
        "from winnow.generate.sources import dtds_of\n"
        "from winnow.generate.values import Values\n"
        "from winnow.generate.documents import *\n"
        "makers = [DocumentMaker(d, Values(), DocumentOptions(), int(sys.argv[1])) for d in dtds_of(['all'])]\n"
        "print(hashlib.sha256(b''.join(c for _, c in make_documents(makers, range(40)))).hexdigest())\n"
    )

    def digest(hash_seed: str, seed: str) -> bytes:
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        return subprocess.run(
            [sys.executable, "-c", script, seed], env=environment, capture_output=True, check=True
        ).stdout

    assert digest("1", "1") == digest("2", "1") != digest("1", "2")


def test_a_document_does_not_depend_on_the_others() -> None:
    (dtd,) = dtds_of(["news"])
    maker = DocumentMaker(dtd, Values(), DocumentOptions(), seed=1)
    assert list(make_documents([maker], range(3, 5))) == list(make_documents([maker], range(5)))[3:]


@pytest.mark.parametrize(
    ("text", "root", "bound", "code"),
    [
        ("<!ELEMENT a (b>", "", 9, "bad_dtd"),
        ("<!-- nothing -->", "", 9, "bad_dtd"),
        ("<!ELEMENT a EMPTY>", "b", 9, "no_root"),
        ("<!ELEMENT a (a)>", "", 9, "endless_dtd"),
        ("<!ELEMENT a (b)>", "", 9, "endless_dtd"),
        ("<!ELEMENT a (b)><!ELEMENT b EMPTY>", "", 1, "bad_depth"),
        ("<!ELEMENT a EMPTY>", "", 200, "bad_depth"),
        ("<!ELEMENT p:a EMPTY>", "", 9, "unbound_prefix"),
        ("<!ELEMENT a (p:b)><!ELEMENT p:b EMPTY><!ELEMENT b EMPTY>", "", 9, "ambiguous_name"),
        ("<!ELEMENT a EMPTY><!ATTLIST a b ENTITY #REQUIRED>", "", 9, "entity_attribute"),
        ("<!ELEMENT a EMPTY><!ATTLIST a b IDREF #REQUIRED>", "", 9, "no_id"),
    ],
)
def test_what_cannot_be_made_is_said(text: str, root: str, bound: int, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        documents_of(read_dtd(text, name="bad", root=root), 1, depth=bound)
    assert caught.value.code == code


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "own.dtd"
    file.write_text("<!ELEMENT b EMPTY><!ELEMENT a (b*)>")
    (dtd,) = dtds_of([str(file)])
    assert (dtd.name, dtd.root) == ("own", "a")
    for names, root, code in ((["absent"], "", "no_dtd"), (["all"], "a", "one_root")):
        with pytest.raises(UsageError) as caught:
            dtds_of(names, root)
        assert caught.value.code == code
