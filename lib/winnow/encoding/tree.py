"""The exact slow path: a document parsed by libxml2 and walked node by node, giving the same arrays as the scanner."""

from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
from lxml import etree

from winnow.encoding.batch import ENCODING_VERSION, EncodedBatch, Status, freeze
from winnow.encoding.paths import DOCUMENT_PATH, PathTable
from winnow.encoding.vocabulary import Vocabulary
from winnow.parsing import parse

_EMPTY_SECTION = b"<![CDATA[]]>"
_CONTENT = etree.XPath("node()", smart_strings=False)
_ATTRIBUTES = etree.XPath("@*")
_FEW = 32  # attributes: lxml's `items` looks each value up by its name, which is quick for few and quadratic for many


def encode_tree(root: etree._Element, vocabulary: Vocabulary, paths: PathTable, *, values: bool) -> EncodedBatch:
    """A batch of the one document with this root element."""
    walk = _Walk(vocabulary, paths)
    walk.document(root)
    return walk.batch(values=values)


def encode_content(content: bytes, vocabulary: Vocabulary, paths: PathTable, *, values: bool) -> EncodedBatch:
    """A batch of the one document with these bytes, whatever their encoding; without nodes when it is not XML."""
    try:
        root = parse(content)
    except (etree.XMLSyntaxError, ValueError):
        return _Walk(vocabulary, paths).batch(values=values, status=Status.MALFORMED)
    return encode_tree(root, vocabulary, paths, values=values)


def rewrite(content: bytes) -> bytes | None:
    """The same nodes as plain XML: in UTF-8 and without DOCTYPE.

    None when it is not XML, or when an empty CDATA section may be a text node, which would be lost.

    >>> rewrite("<?xml version='1.0' encoding='UTF-16'?><!DOCTYPE a []><a>é&#13;</a>".encode("utf-16")).decode()
    '<a>é&#13;</a>'
    """
    if _EMPTY_SECTION in content or _EMPTY_SECTION in content.replace(b"\0", b""):
        return None
    try:
        return etree.tostring(parse(content), encoding="utf-8", with_tail=False)
    except (etree.XMLSyntaxError, ValueError):
        return None


def _content(element: etree._Element) -> list[Any]:
    """Child elements, comments, instructions and text nodes, in order."""
    if len(element) == 0:  # nothing to come between characters, so they are one text node
        return [] if element.text is None else [element.text]
    return cast("list[Any]", _CONTENT(element))


def _attributes(element: etree._Element) -> list[tuple[str, str]]:
    """Names and values, in document order, in a time linear in their number."""
    if len(element.attrib) <= _FEW:
        return cast("list[tuple[str, str]]", element.attrib.items())
    values = cast("list[Any]", _ATTRIBUTES(element))
    return [(value.attrname, value) for value in values]


class _Walk:
    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        self._vocabulary = vocabulary
        self._paths = paths
        self._nodes: list[tuple[int, int, int]] = []  # path, level, parent
        self._ends: list[int] = []
        self._spans: list[tuple[int, int]] = []
        self._texts: list[tuple[int, int, int]] = []
        self._text = bytearray()
        self._attribute_values = bytearray()
        self._attributes: list[int] = []

    def document(self, root: etree._Element) -> None:
        """Depth is libxml2's to bound, and it may be 2048: the stack is explicit. An int closes the node it names."""
        pending: list[tuple[Any, int]] = [(root, -1)]
        while pending:
            item, parent = pending.pop()
            if isinstance(item, int):
                self._ends[item] = len(self._nodes)
                self._spans[item] = (self._spans[item][0], len(self._text))
            elif isinstance(item, str):
                start = len(self._text)
                self._text += item.encode()
                self._texts.append((parent, start, len(self._text)))
            elif isinstance(item.tag, str):
                node = self._open(item, parent)
                pending.append((node, parent))
                pending.extend((child, node) for child in reversed(_content(item)))

    def _open(self, element: etree._Element, parent: int) -> int:
        path, level = self._nodes[parent][:2] if parent >= 0 else (DOCUMENT_PATH, 0)
        node = len(self._nodes)
        path = self._path(path, str(element.tag))
        self._nodes.append((path, level + 1, parent))
        self._ends.append(node + 1)
        self._spans.append((len(self._text), len(self._text)))
        attributes = _attributes(element) if element.attrib else []
        if attributes:
            first = node + 1
            numbers = range(first, first + len(attributes))
            self._nodes += [(self._path(path, f"@{name}"), level + 2, node) for name, _ in attributes]
            self._ends += [number + 1 for number in numbers]
            values = [value.encode() for _, value in attributes]
            ends = list(accumulate(map(len, values), initial=len(self._attribute_values)))
            self._spans += pairwise(ends)
            self._attribute_values += b"".join(values)
            self._attributes += numbers
        return node

    def _path(self, parent: int, label: str) -> int:
        return self._paths.add(parent, self._vocabulary.add(label))

    def batch(self, *, values: bool, status: Status = Status.WALKED) -> EncodedBatch:
        nodes = np.array(self._nodes, np.int32).reshape(-1, 3)
        spans = np.array(self._spans if values else [], np.int32).reshape(-1, 2)
        texts = np.array(self._texts if values else [], np.int32).reshape(-1, 3)
        content = np.frombuffer(bytes(self._text + self._attribute_values) if values else b"", np.uint8)
        if values:
            spans[self._attributes] += len(self._text)
        return freeze(
            EncodedBatch(
                version=ENCODING_VERSION,
                with_values=values,
                status=np.array([status], np.uint8),
                doc_offsets=np.array([0, len(nodes)], np.int64),
                path=nodes[:, 0],
                end=np.array(self._ends, np.int32),
                level=nodes[:, 1].astype(np.int16),
                parent=nodes[:, 2],
                value_start=spans[:, 0],
                value_end=spans[:, 1],
                values=content,
                value_offsets=np.array([0, content.size], np.int64),
                text_offsets=np.array([0, len(texts)], np.int64),
                text_parent=texts[:, 0],
                text_start=texts[:, 1],
                text_end=texts[:, 2],
            )
        )
