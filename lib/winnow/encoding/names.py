"""The look-up from what stands in a document to ids: an open-addressing hash table of byte spans, read by the scanner.

A key is a span of raw bytes plus one integer that says what the span means there (see `name_key`). Equality compares
every byte: two spans with the same hash never get the same id. The seed differs per process, so that nobody can
prepare documents whose names all collide.
"""

import os
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import inlined, kernel
from winnow.encoding.simd import SLACK, raw, word_at

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.int64]

ELEMENT, ATTRIBUTE, NAMESPACE, DECLARATION = 0, 1, 2, 3  # what a span is: a qualified name, `xmlns:p="…"`, `<?xml …?>`

KEY, HASH, SPAN, VALUE, WIDTH = (
    0,
    1,
    2,
    3,
    4,
)  # columns of a slot; SPAN is (start in the heap << 32) | length; VALUE -1 is empty
_MULTIPLIER = -7046029254386353131  # 2**64 / golden ratio, odd


class NameIndex(NamedTuple):
    """`mask + 1` = 2**k slots of `WIDTH`, at most half full; `heap` holds the spans' bytes, then `SLACK` bytes.

    Arrays outside kernels, pointers inside.
    """

    slots: Words
    heap: Bytes
    mask: int
    seed: int


@inlined
def name_key(parent_path: int, context: int, kind: int) -> int:
    """Paths are below 2**31 and contexts below 2**30, so the three do not overlap."""
    return (parent_path << 32) | (context << 2) | kind


@inlined
def same_span(left: Bytes, left_start: int, right: Bytes, right_start: int, length: int) -> bool:
    k = 0
    while k + 8 <= length:
        if word_at(left, left_start + k) != word_at(right, right_start + k):
            return False
        k += 8
    if k < length:
        difference = word_at(left, left_start + k) ^ word_at(right, right_start + k)
        return bool(difference << (64 - 8 * (length - k)) == 0)
    return True


@inlined
def hash_span(data: Bytes, start: int, length: int, key: int, seed: int) -> int:
    h = (seed ^ key) * _MULTIPLIER
    k = 0
    while k + 8 <= length:
        h = (h ^ (h >> 32) ^ word_at(data, start + k)) * _MULTIPLIER
        k += 8
    if k < length:
        h = (h ^ (h >> 32) ^ (word_at(data, start + k) << (64 - 8 * (length - k)))) * _MULTIPLIER
    return h ^ (h >> 32)


@kernel
def find(index: NameIndex, data: Bytes, start: int, length: int, key: int) -> int:
    """The value stored for this span and key, or -1. Ends, because at least half of the slots are empty."""
    h = hash_span(data, start, length, key, index.seed)
    slot = WIDTH * (h & index.mask)
    while True:
        value = index.slots[slot + VALUE]
        if value < 0:
            return -1
        if index.slots[slot + HASH] == h and index.slots[slot + KEY] == key:
            span = index.slots[slot + SPAN]
            if (span & 0xFFFFFFFF) == length and same_span(index.heap, span >> 32, data, start, length):
                return int(value)
        slot = (slot + WIDTH) & (WIDTH * index.mask)


@inlined
def _store(index: NameIndex, start: int, length: int, key: int, value: int) -> None:
    h = hash_span(index.heap, start, length, key, index.seed)
    slot = WIDTH * (h & index.mask)
    while index.slots[slot + VALUE] >= 0:
        slot = (slot + WIDTH) & (WIDTH * index.mask)
    index.slots[slot + KEY] = key
    index.slots[slot + HASH] = h
    index.slots[slot + SPAN] = (start << 32) | length
    index.slots[slot + VALUE] = value


@kernel
def _insert(index: NameIndex, start: int, length: int, key: int, value: int) -> None:
    """Store a span that lies in the heap and is not in the table yet."""
    _store(NameIndex(raw(index.slots), raw(index.heap), index.mask, index.seed), start, length, key, value)


@kernel
def _is_known(index: NameIndex, data: Bytes, spans: Words, keys: Words) -> npt.NDArray[np.bool_]:
    index, data = NameIndex(raw(index.slots), raw(index.heap), index.mask, index.seed), raw(data)
    known = np.zeros(spans.shape[0], np.bool_)
    for k in range(spans.shape[0]):
        known[k] = find(index, data, spans[k, 0], spans[k, 1] - spans[k, 0], keys[k]) >= 0
    return known


@kernel
def _rehash(old: NameIndex, new: NameIndex) -> None:
    target = NameIndex(raw(new.slots), raw(new.heap), new.mask, new.seed)
    for slot in range(0, old.slots.size, WIDTH):
        if old.slots[slot + VALUE] >= 0:
            span = old.slots[slot + SPAN]
            _store(target, span >> 32, span & 0xFFFFFFFF, old.slots[slot + KEY], old.slots[slot + VALUE])


class NameTable:
    """The growing owner of a `NameIndex`."""

    def __init__(self) -> None:
        seed = int.from_bytes(os.urandom(7), "little")
        self.index = _empty_index(1024, np.zeros(1 << 14, np.uint8), seed)
        self._count = 0
        self._heap_used = 0
        self._spans: dict[bytes, int] = {}

    def __len__(self) -> int:
        return self._count

    @property
    def heap_bytes(self) -> int:
        return self._heap_used

    def add(self, span: bytes, key: int, value: int) -> None:
        """Store a span that `find` did not find. Equal bytes under different keys share their place in the heap."""
        start = self._spans.get(span)
        if start is None:
            start = self._spans[span] = self._keep(span)
        if 2 * (self._count + 1) > self.index.mask:
            grown = _empty_index(2 * (self.index.mask + 1), self.index.heap, self.index.seed)
            _rehash(self.index, grown)
            self.index = grown
        _insert(self.index, start, len(span), key, value)
        self._count += 1

    def unknown(self, data: Bytes, spans: list[tuple[int, int]], keys: list[int]) -> list[tuple[bytes, int]]:
        """Those spans (start, stop) of `data` that have no value under their keys, each once; `SLACK` bytes before the
        end of `data` is where the last may end.
        """
        places = np.array(spans, np.int64).reshape(-1, 2)
        readable = places[:, 1] + SLACK <= data.size
        places, chosen = places[readable], np.array(keys, np.int64)[readable]
        unknown = ~_is_known(self.index, data, places, chosen)
        found = zip(places[unknown].tolist(), chosen[unknown].tolist(), strict=True)
        return list(dict.fromkeys((data[start:stop].tobytes(), key) for (start, stop), key in found))

    def _keep(self, span: bytes) -> int:
        start, end = self._heap_used, self._heap_used + len(span)
        if end + SLACK > self.index.heap.size:
            heap = np.zeros(2 * (end + SLACK), np.uint8)
            heap[:start] = self.index.heap[:start]
            self.index = self.index._replace(heap=heap)
        self.index.heap[start:end] = np.frombuffer(span, np.uint8)
        self._heap_used = end
        return start


def _empty_index(capacity: int, heap: Bytes, seed: int) -> NameIndex:
    slots = np.zeros(capacity * WIDTH, np.int64)
    slots[VALUE::WIDTH] = -1
    return NameIndex(slots, heap, capacity - 1, seed)
