"""The encoded batch: documents as immutable flat arrays, ready for kernels and for tables."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

ENCODING_VERSION = 1

Bytes = npt.NDArray[np.uint8]
Shorts = npt.NDArray[np.int16]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Status(IntEnum):
    SCANNED = 0  # by the compiled scanner
    WALKED = 1  # parsed by libxml2 and walked; the same arrays
    MALFORMED = 2  # not well-formed: the document has no nodes
    UNPROVEN = 3  # the scanner alone cannot say whether the document is acceptable: it has no nodes yet


class EncodedBatch(NamedTuple):
    """Documents `d` with nodes `doc_offsets[d]:doc_offsets[d + 1]`, in pre-order: element, its attributes, its content.

    Node indexes (`end`, `parent`, `text_parent`) count within the batch. A node's descendants are `node + 1:end[node]`.
    The string-value of node `i` is `values[value_start[i]:value_end[i]]`, UTF-8: all descendant text of an element, the
    normalised value of an attribute. Text nodes are not nodes here; they have arrays of their own, in document
    order. Without values, the arrays about values and texts are empty and `with_values` is False.

    Numba takes the batch as one argument. All arrays are read-only, so that a kernel is compiled for one type of them.
    """

    version: int
    with_values: bool
    status: Bytes  # per document, a `Status`
    doc_offsets: Longs
    path: Ints
    end: Ints
    level: Shorts  # 1 for a root element
    parent: Ints  # -1 for a root element
    value_start: Ints
    value_end: Ints
    values: Bytes
    value_offsets: Longs  # per document, into `values`
    text_offsets: Longs  # per document, into the text arrays
    text_parent: Ints
    text_start: Ints
    text_end: Ints

    @property
    def documents(self) -> int:
        return self.doc_offsets.size - 1

    @property
    def nodes(self) -> int:
        return self.path.size

    def value(self, node: int) -> bytes:
        """The string-value of a node, for people and tests."""
        return self.values[self.value_start[node] : self.value_end[node]].tobytes()

    def slice(self, start: int, stop: int) -> "EncodedBatch":
        """The documents `start:stop` as a batch of their own."""
        first, last = int(self.doc_offsets[start]), int(self.doc_offsets[stop])
        first_text, last_text = int(self.text_offsets[start]), int(self.text_offsets[stop])
        first_value, last_value = int(self.value_offsets[start]), int(self.value_offsets[stop])
        nodes = slice(first, last)
        texts = slice(first_text, last_text)
        return freeze(
            self._replace(
                status=self.status[start:stop],
                doc_offsets=self.doc_offsets[start : stop + 1] - first,
                path=self.path[nodes],
                end=self.end[nodes] - np.int32(first),
                level=self.level[nodes],
                parent=np.maximum(self.parent[nodes] - np.int32(first), np.int32(-1)),
                value_start=self.value_start[nodes] - np.int32(first_value),
                value_end=self.value_end[nodes] - np.int32(first_value),
                values=self.values[first_value:last_value],
                value_offsets=self.value_offsets[start : stop + 1] - first_value,
                text_offsets=self.text_offsets[start : stop + 1] - first_text,
                text_parent=self.text_parent[texts] - np.int32(first),
                text_start=self.text_start[texts] - np.int32(first_value),
                text_end=self.text_end[texts] - np.int32(first_value),
            )
        )


def concat(batches: Sequence[EncodedBatch]) -> EncodedBatch:
    """One batch of all documents, in order; `concat([b.slice(0, k), b.slice(k, n)])` equals `b`."""
    nodes = np.cumsum([0, *(batch.nodes for batch in batches)]).astype(np.int32)
    values = np.cumsum([0, *(batch.values.size for batch in batches)]).astype(np.int32)
    texts = np.cumsum([0, *(batch.text_parent.size for batch in batches)]).astype(np.int32)
    first, shifts = batches[0], list(zip(batches, nodes, values, texts, strict=False))
    return freeze(
        EncodedBatch(
            version=first.version,
            with_values=first.with_values,
            status=np.concatenate([b.status for b in batches]),
            doc_offsets=_offsets([b.doc_offsets for b in batches]),
            path=np.concatenate([b.path for b in batches]),
            end=np.concatenate([b.end + node for b, node, _, _ in shifts]),
            level=np.concatenate([b.level for b in batches]),
            parent=np.concatenate([np.where(b.parent < 0, b.parent, b.parent + node) for b, node, _, _ in shifts]),
            value_start=np.concatenate([b.value_start + value for b, _, value, _ in shifts]),
            value_end=np.concatenate([b.value_end + value for b, _, value, _ in shifts]),
            values=np.concatenate([b.values for b in batches]),
            value_offsets=_offsets([b.value_offsets for b in batches]),
            text_offsets=_offsets([b.text_offsets for b in batches]),
            text_parent=np.concatenate([b.text_parent + node for b, node, _, _ in shifts]),
            text_start=np.concatenate([b.text_start + value for b, _, value, _ in shifts]),
            text_end=np.concatenate([b.text_end + value for b, _, value, _ in shifts]),
        )
    )


def freeze(batch: EncodedBatch) -> EncodedBatch:
    """The batch with every array contiguous and read-only."""
    fields: list[Any] = []
    for field in batch:
        if isinstance(field, np.ndarray):
            frozen = np.ascontiguousarray(field).view()
            frozen.setflags(write=False)
            fields.append(frozen)
        else:
            fields.append(field)
    return EncodedBatch(*fields)


def _offsets(parts: Sequence[Longs]) -> Longs:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))]).astype(np.int64)
