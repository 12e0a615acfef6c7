"""The exact slow path: a document parsed by libxml2 and walked node by node, giving the same arrays as the scanner."""

from typing import Any, cast

import numpy as np
from lxml import etree

from winnow.encoding.batch import ENCODING_VERSION, EncodedBatch, Status, freeze
from winnow.encoding.paths import DOCUMENT_PATH, PathTable
from winnow.encoding.vocabulary import Vocabulary
from winnow.parsing import parse

_CONTENT = etree.XPath("node()", smart_strings=False)


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


def _content(element: etree._Element) -> list[Any]:
    """Child elements, comments, instructions and text nodes, in order."""
    if len(element) == 0:  # nothing to come between characters, so they are one text node
        return [] if element.text is None else [element.text]
    return cast("list[Any]", _CONTENT(element))


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
        node = self._node(str(element.tag), path, level, parent)
        self._spans[node] = (len(self._text), len(self._text))
        for name, value in element.attrib.items():
            attribute = self._node("@" + str(name), self._nodes[node][0], level + 1, node)
            self._attributes.append(attribute)
            start = len(self._attribute_values)
            self._attribute_values += str(value).encode()
            self._spans[attribute] = (start, len(self._attribute_values))
        return node

    def _node(self, label: str, parent_path: int, parent_level: int, parent: int) -> int:
        node = len(self._nodes)
        self._nodes.append((self._paths.add(parent_path, self._vocabulary.add(label)), parent_level + 1, parent))
        self._ends.append(node + 1)
        self._spans.append((0, 0))
        return node

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
