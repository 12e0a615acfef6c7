"""Where the columns of data sequences occur, as bits: the next occurrence of a column is one look at a word or two.

A column is what a position of a query can ask for: a label, or one of two wildcards (see `packed_tree`). Up to 64
sequences are noted at a time; a word per column says which of them have it. A sequence that is very long is looked at
in blocks of 2**shift positions: two positions in one block may then be in either order, which loses no match and keeps
the bits within bounds.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding.simd import lowest_bit
from winnow.envelope.packed_tree import ANY_COLUMN, ANY_NEGATIVE_COLUMN, FIRST_COLUMN

GROUP = 64  # sequences that are noted at a time
MAX_WORDS = 1 << 16  # of the bits of one sequence


class Sequences(NamedTuple):
    """Sequence d is `symbols[offsets[d]:offsets[d + 1]]`.

    Its symbols are columns, negated where the second wildcard meets them; beyond all columns where no query has them.
    """

    symbols: Ints
    offsets: Longs


class Occurrences(NamedTuple):
    """Sequence g has column c in the bits `bits[base[g] + slot[g * columns + c] * words[g]:]`; slot -1: nowhere."""

    columns: int
    slot: Ints
    bits: Longs
    base: Longs
    words: Longs
    shift: Longs
    has: Longs  # per column, the sequences that have it, as bits
    union: Longs  # the columns that some sequence has, as bits


def empty_occurrences(data: Sequences, columns: int, size: int) -> Occurrences:
    """Room for any `size` of these sequences."""
    longest = int(np.diff(data.offsets).max(initial=0))
    slots = min(columns, longest) + FIRST_COLUMN
    room = max(2 * slots, min(MAX_WORDS, slots * (longest // 64 + 1)))
    return Occurrences(
        columns=columns,
        slot=np.full(size * columns, -1, np.int32),
        bits=np.zeros(size * room, np.int64),
        base=np.arange(size) * room,
        words=np.ones(size, np.int64),
        shift=np.zeros(size, np.int64),
        has=np.zeros(columns, np.int64),
        union=np.zeros(columns // 64 + 1, np.int64),
    )


@kernel
def note_sequences(given: Occurrences, data: Sequences, order: Ints, begin: int, end: int) -> None:
    """Note the sequences `order[begin:end]` in place of those before."""
    columns, slot, bits, base, words, shift, has, union = given
    one = np.int64(1)
    room = bits.size // base.size
    slot[:] = -1
    has[:] = 0
    union[:] = 0
    for g in range(end - begin):
        first, last = data.offsets[order[begin + g]], data.offsets[order[begin + g] + 1]
        own = g * columns
        distinct = FIRST_COLUMN
        slot[own + ANY_COLUMN], slot[own + ANY_NEGATIVE_COLUMN] = 0, 1
        has[ANY_COLUMN] |= one << g
        has[ANY_NEGATIVE_COLUMN] |= one << g
        for i in range(first, last):
            column = abs(np.int64(data.symbols[i]))
            if column < columns and slot[own + column] < 0:
                slot[own + column] = distinct
                has[column] |= one << g
                union[column >> 6] |= one << (column & 63)
                distinct += 1
        union[0] |= 3
        by = 0
        while distinct * ((((last - first) >> by) >> 6) + 1) > room:
            by += 1
        width = (((last - first) >> by) >> 6) + 1
        bits[base[g] : base[g] + distinct * width] = 0
        for i in range(first, last):
            at = (i - first) >> by
            bit = one << (at & 63)
            symbol = np.int64(data.symbols[i])
            bits[base[g] + (0 if symbol >= 0 else width) + (at >> 6)] |= bit
            column = abs(symbol)
            if column < columns:
                bits[base[g] + slot[own + column] * width + (at >> 6)] |= bit
        words[g], shift[g] = width, by


@inlined
def next_occurrence(bits: Longs, row: int, words: int, at: int) -> int:
    """The first position from `at` on that the bits from `row` on have, or -1."""
    word = at >> 6
    found = -1
    if word < words:
        rest = bits[row + word] & (np.int64(-1) << np.int64(at & 63))
        while rest == 0 and word + 1 < words:
            word += 1
            rest = bits[row + word]
        if rest != 0:
            found = word * 64 + lowest_bit(rest)
    return found


@inlined
def has_any(union: Longs, low: int, high: int) -> bool:
    """Whether some column from `low` to `high` occurs."""
    word, last = low >> 6, high >> 6
    bits = union[word] & (np.int64(-1) << np.int64(low & 63))
    while word < last and bits == 0:
        word += 1
        bits = union[word]
    if word == last and high & 63 != 63:
        bits &= (np.int64(1) << np.int64((high & 63) + 1)) - 1
    return bool(bits != 0)
