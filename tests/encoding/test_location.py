"""A location leads back to the node it was made from."""

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from winnow.encoding import Encoder, PathTable, Vocabulary, locate
from winnow.parsing import parse

from .documents import documents, examples
from .naive import naive_document

_ENCODER = Encoder(Vocabulary(), PathTable())
_STEP = re.compile(r"/(@?)(?:Q(\{[^}]*\}))?([^/\[]+)(?:\[(\d+)\])?")


def resolve(root: etree._Element, location: str) -> etree._Element | tuple[etree._Element, str]:
    """The element, or the element and the attribute's name, at a location."""
    steps = [match.groups() for match in _STEP.finditer(location)]
    assert "".join(match[0] for match in _STEP.finditer(location)) == location
    assert root.tag == (steps[0][1] or "") + steps[0][2]
    for attribute, uri, local, position in steps[1:]:
        name = (uri or "") + local
        if attribute:
            assert name in root.attrib
            return root, name
        root = [child for child in root if child.tag == name][int(position) - 1]
    return root


@given(documents())
@settings(max_examples=examples(100), deadline=None)
def test_locations_resolve_to_their_nodes(text: str) -> None:
    assume(naive_document(text.encode()) is not None)
    batch = _ENCODER.encode([b"<a><b/><b/></a>", text.encode()], values=False)
    root = parse(text.encode())
    expected: list[object] = []
    for element in root.iter(etree.Element):
        expected += [element, *((element, name) for name in element.attrib)]
    nodes = range(3, batch.nodes)
    locations = locate(batch, nodes, paths=_ENCODER.paths, vocabulary=_ENCODER.vocabulary)
    assert [resolve(root, location) for location in locations] == expected


@given(st.permutations(range(7)))
@settings(max_examples=examples(10), deadline=None)
def test_what_people_read(order: list[int]) -> None:
    content = b'<nitf><head/><body/><body xmlns="urn:x"><p/><p id="1"/></body></nitf>'
    batch = _ENCODER.encode([b"<z/>", content], values=False)
    expected = [
        "/nitf",
        "/nitf/head[1]",
        "/nitf/body[1]",
        "/nitf/Q{urn:x}body[1]",
        "/nitf/Q{urn:x}body[1]/Q{urn:x}p[1]",
        "/nitf/Q{urn:x}body[1]/Q{urn:x}p[2]",
        "/nitf/Q{urn:x}body[1]/Q{urn:x}p[2]/@id",
    ]
    seen = locate(batch, [1 + k for k in order], paths=_ENCODER.paths, vocabulary=_ENCODER.vocabulary)
    assert seen == [expected[k] for k in order]
