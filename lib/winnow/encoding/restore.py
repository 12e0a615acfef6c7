"""A batch from few numbers: the paths of its nodes say all about structure, its spans where values begin and end.

Text can be in few places: after an element was opened, and after each of those that are closed before the next one is.
For each such place, in document order, the spans of a document have a number: 0 when there is none, else twice its
length and 1, or 2 when there is one more text node in that place (what lies between is a comment, say). The lengths of
attribute values follow. Text lies before attribute values, both in document order, so all other bounds follow from
these numbers.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.encoding.batch import ENCODING_VERSION, Bytes, EncodedBatch, Flags, Ints, Longs, Shorts, Status, freeze
from winnow.encoding.paths import PathTable


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
    documents = doc_offsets.size - 1
    none, zeros = np.zeros(0, np.int32), np.zeros(documents + 1, np.int64)
    if stored is None:
        level, end, parent = _climb(path, doc_offsets, paths.depths)
        values = _Values(none, none, zeros, none, none, none)
    else:
        level, end, parent, values = _climb_with_values(path, doc_offsets, paths.depths, stored)
    return freeze(
        EncodedBatch(
            version=ENCODING_VERSION,
            with_values=stored is not None,
            status=np.full(documents, Status.SCANNED, np.uint8),
            doc_offsets=doc_offsets.astype(np.int64),
            path=path.astype(np.int32),
            end=end,
            level=level,
            parent=parent,
            value_start=values.start,
            value_end=values.end,
            values=stored.data if stored else np.zeros(0, np.uint8),
            value_offsets=stored.offsets if stored else zeros,
            text_offsets=values.text_offsets,
            text_parent=values.text_parent,
            text_start=values.text_start,
            text_end=values.text_end,
        )
    )


class _Values(NamedTuple):
    start: Ints
    end: Ints
    text_offsets: Longs
    text_parent: Ints
    text_start: Ints
    text_end: Ints


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
def _climb_with_values(
    path: Ints, doc_offsets: Longs, depths: Ints, stored: StoredValues
) -> tuple[Shorts, Ints, Ints, _Values]:
    """In one pass: the places for text are where elements are closed."""
    numbers, is_attribute = stored.numbers, stored.is_attribute
    level, end, parents = np.empty(path.size, np.int16), np.empty(path.size, np.int32), np.empty(path.size, np.int32)
    value_start, value_end = np.empty(path.size, np.int32), np.empty(path.size, np.int32)
    text_parent = np.empty(numbers.size, np.int32)
    text_start, text_end = np.empty(numbers.size, np.int32), np.empty(numbers.size, np.int32)
    text_offsets = np.zeros(doc_offsets.size, np.int64)
    text = 0
    for document in range(doc_offsets.size - 1):
        first, stop = doc_offsets[document], doc_offsets[document + 1]
        position, at = stored.offsets[document], stored.ends[document]
        element, parent, attributes = first, -1, 0
        while element < stop:
            depth = depths[path[element]]
            level[element], parents[element], value_start[element] = depth, parent, position
            following = element + 1
            while following < stop and is_attribute[path[following]]:
                level[following], parents[following], end[following] = depth + 1, element, following + 1
                following += 1
                attributes += 1
            stays = depths[path[following]] - 1 if following < stop else 0
            parent = element
            while True:
                while numbers[at] > 0:
                    text_parent[text], text_start[text] = parent, position
                    position += (numbers[at] - 1) >> 1
                    text_end[text] = position
                    text += 1
                    if numbers[at] & 1:
                        break
                    at += 1
                at += 1
                value_end[parent] = position
                if depth == stays:
                    break
                end[parent] = following
                parent = parents[parent]
                depth -= 1
                if depth == 0:
                    break
            element = following
        node = first
        while attributes:
            if is_attribute[path[node]]:
                value_start[node] = position
                position += numbers[at]
                value_end[node] = position
                at += 1
                attributes -= 1
            node += 1
        text_offsets[document + 1] = text
    texts = text_parent[:text].copy(), text_start[:text].copy(), text_end[:text].copy()
    return level, end, parents, _Values(value_start, value_end, text_offsets, texts[0], texts[1], texts[2])
