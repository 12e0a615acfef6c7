"""A batch from few numbers: the paths of its nodes say all about structure, its spans where values begin and end.

Text can be in few places: after an element was opened, and after each of those that are closed before the next one is.
For each such place, in document order, the spans of a document have a number: 0 when there is none, else twice its
length and 1, or 2 when there is one more text node in that place (what lies between is a comment, say). The lengths of
attribute values follow. Text lies before attribute values, both in document order, so all other bounds follow from
these numbers.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.encoding.batch import ENCODING_VERSION, Bytes, EncodedBatch, Ints, Longs, Shorts, Status, freeze
from winnow.encoding.jit import kernel
from winnow.encoding.paths import PathTable

Flags = npt.NDArray[np.bool_]


class StoredValues(NamedTuple):
    """Of document d the spans `numbers[ends[d]:ends[d + 1]]` and the values `data[offsets[d]:offsets[d + 1]]`."""

    numbers: Ints
    ends: Longs
    data: Bytes
    offsets: Longs
    is_attribute: Flags  # by path


def stored_values(batch: EncodedBatch, is_attribute: Flags) -> StoredValues:
    """What a batch with values has beside its structure."""
    numbers, ends = _spans(batch, is_attribute)
    return StoredValues(numbers, ends, batch.values, batch.value_offsets, is_attribute)


def restore(path: Ints, doc_offsets: Longs, paths: PathTable, stored: StoredValues | None = None) -> EncodedBatch:
    """
    >>> from winnow.encoding import Encoder, Vocabulary
    >>> words, paths = Vocabulary(), PathTable()
    >>> batch = Encoder(words, paths).encode([b"<a x='1'>one<b/>two<b><c>three</c></b></a>"], values=True)
    >>> is_attribute = np.array([label.startswith("@") for label in words.labels()])[paths.symbols]
    >>> again = restore(batch.path, batch.doc_offsets, paths, stored_values(batch, is_attribute))
    >>> [again.value(node).decode() for node in range(5)]
    ['onetwothree', '1', '', 'three', 'three']
    """
    level, end, parent = _climb(path, doc_offsets, paths.depths)
    documents = doc_offsets.size - 1
    none = np.zeros(0, np.int32)
    batch = freeze(
        EncodedBatch(
            version=ENCODING_VERSION,
            with_values=False,
            status=np.full(documents, Status.SCANNED, np.uint8),
            doc_offsets=doc_offsets.astype(np.int64),
            path=path.astype(np.int32),
            end=end,
            level=level,
            parent=parent,
            value_start=none,
            value_end=none,
            values=np.zeros(0, np.uint8),
            value_offsets=np.zeros(documents + 1, np.int64),
            text_offsets=np.zeros(documents + 1, np.int64),
            text_parent=none,
            text_start=none,
            text_end=none,
        )
    )
    if stored is None:
        return batch
    starts, ends, text_offsets, text_parent, text_start, text_end = _values(batch, stored)
    return freeze(
        batch._replace(
            with_values=True,
            value_start=starts,
            value_end=ends,
            values=stored.data,
            value_offsets=stored.offsets,
            text_offsets=text_offsets,
            text_parent=text_parent,
            text_start=text_start,
            text_end=text_end,
        )
    )


@kernel
def _climb(path: Ints, doc_offsets: Longs, depths: Ints) -> tuple[Shorts, Ints, Ints]:
    level = np.empty(path.size, np.int16)
    end = np.empty(path.size, np.int32)
    parent = np.empty(path.size, np.int32)
    deepest = 0
    for node in range(path.size):
        deepest = max(deepest, depths[path[node]])
    open_nodes = np.full(deepest + 1, -1, np.int32)
    for document in range(doc_offsets.size - 1):
        last = 0
        for node in range(doc_offsets[document], doc_offsets[document + 1]):
            depth = depths[path[node]]
            for closed in range(depth, last + 1):
                if open_nodes[closed] >= 0:
                    end[open_nodes[closed]] = node
                    open_nodes[closed] = -1
            level[node] = depth
            parent[node] = open_nodes[depth - 1] if depth > 1 else -1
            open_nodes[depth] = node
            last = depth
        for closed in range(last + 1):
            if open_nodes[closed] >= 0:
                end[open_nodes[closed]] = doc_offsets[document + 1]
                open_nodes[closed] = -1
    return level, end, parent


@kernel
def _spans(batch: EncodedBatch, is_attribute: Flags) -> tuple[Ints, Longs]:
    """A text without characters (an empty CDATA section) does not say what was opened before it, and need not."""
    path, level, parents, value_start = batch.path, batch.level, batch.parent, batch.value_start
    text_parent, text_start, text_end = batch.text_parent, batch.text_start, batch.text_end
    documents = batch.doc_offsets.size - 1
    numbers = np.empty(2 * path.size + text_parent.size, np.int32)
    ends = np.zeros(documents + 1, np.int64)
    used = 0
    for document in range(documents):
        first, stop = batch.doc_offsets[document], batch.doc_offsets[document + 1]
        text, last = batch.text_offsets[document], batch.text_offsets[document + 1]
        element = first
        while element < stop:
            following = element + 1
            while following < stop and is_attribute[path[following]]:
                following += 1
            places = level[element] - (level[following] if following < stop else 2) + 2
            opened = value_start[following] if following < stop else _NEVER
            parent = element
            for _ in range(places):
                number = 0
                while (
                    text < last
                    and text_parent[text] == parent
                    and (text_start[text] < opened or text_start[text] == text_end[text])
                ):
                    if number:
                        numbers[used] = number + 1
                        used += 1
                    number = 2 * (text_end[text] - text_start[text]) + 1
                    text += 1
                numbers[used] = number
                used += 1
                parent = parents[parent]
            element = following
        for node in range(first, stop):
            if is_attribute[path[node]]:
                numbers[used] = batch.value_end[node] - value_start[node]
                used += 1
        ends[document + 1] = used
    return numbers[:used].copy(), ends


_NEVER = 2**31 - 1


@kernel
def _values(batch: EncodedBatch, stored: StoredValues) -> tuple[Ints, Ints, Longs, Ints, Ints, Ints]:
    path, level, parents = batch.path, batch.level, batch.parent
    numbers, is_attribute = stored.numbers, stored.is_attribute
    starts, ends = np.empty(path.size, np.int32), np.empty(path.size, np.int32)
    text_parent = np.empty(numbers.size, np.int32)
    text_start, text_end = np.empty(numbers.size, np.int32), np.empty(numbers.size, np.int32)
    text_offsets = np.zeros(batch.doc_offsets.size, np.int64)
    text = 0
    for document in range(batch.doc_offsets.size - 1):
        first, stop = batch.doc_offsets[document], batch.doc_offsets[document + 1]
        position, at = stored.offsets[document], stored.ends[document]
        element = first
        while element < stop:
            following = element + 1
            while following < stop and is_attribute[path[following]]:
                following += 1
            places = level[element] - (level[following] if following < stop else 2) + 2
            starts[element] = position
            parent = element
            for _ in range(places):
                while numbers[at] > 0:
                    text_parent[text], text_start[text] = parent, position
                    position += (numbers[at] - 1) >> 1
                    text_end[text] = position
                    text += 1
                    if numbers[at] & 1:
                        break
                    at += 1
                at += 1
                ends[parent] = position
                parent = parents[parent]
            element = following
        for node in range(first, stop):
            if is_attribute[path[node]]:
                starts[node] = position
                position += numbers[at]
                ends[node] = position
                at += 1
        text_offsets[document + 1] = text
    return starts, ends, text_offsets, text_parent[:text].copy(), text_start[:text].copy(), text_end[:text].copy()
