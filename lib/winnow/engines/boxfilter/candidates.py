"""From sequences to candidates: documents are searched one by one or in groups, and patterns wait for their pieces.

A pattern's **access piece**, the one with the rarest access label, is in the tree. When it turns up in documents, the
pattern's other pieces are looked for in just these: a pattern is a candidate where all of them lie.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding.simd import lowest_bit, raw
from winnow.envelope import PackedTree, Scratch, Sequences, note_sequences, search_group, search_packed
from winnow.envelope.occurrences import Occurrences, next_occurrence


class Asked(NamedTuple):
    """Sequence s is the access piece of the live patterns `patterns[offsets[s]:offsets[s + 1]]`."""

    offsets: Longs
    patterns: Ints
    other_offsets: Longs  # per pattern, into
    others: Ints  # its pieces but for the access piece
    starts: Longs  # per sequence, into
    columns: Ints  # what its positions ask for


class Memory(NamedTuple):
    """Per sequence, in which of the documents that are noted it was looked for, and in which of these it lies."""

    stamps: Longs
    asked: Longs
    held: Longs
    counter: Longs  # [the last stamp given]


def new_memory(sequences: int) -> Memory:
    stamps, asked, held = (np.zeros(sequences, np.int64) for _ in range(3))
    return Memory(stamps, asked, held, np.zeros(1, np.int64))


class Place(NamedTuple):
    """Where candidates are looked for: a tree, what its sequences stand for, and room to work in."""

    tree: PackedTree
    asked: Asked
    given: Occurrences
    scratch: Scratch
    memory: Memory


@kernel
def sequential_candidates(place: Place, data: Sequences, documents: Ints, begin: int, end: int) -> Ints:
    """Algorithm 3 for each of the sequences `begin:end`: rows (document, pattern), ascending by document."""
    rows = np.empty((1024, 2), np.int32)
    order = np.arange(data.offsets.size - 1).astype(np.int32)
    used = 0
    for d in range(begin, end):
        note_sequences(place.given, data, order, d, d + 1)
        hits = search_packed(place.tree, place.given, data, d, place.scratch)
        rows, used = _complete(place, hits, documents[d : d + 1], rows, used)
    return rows[:used]


@kernel
def grouped_candidates(place: Place, data: Sequences, documents: Ints, members: Ints, tops: Ints) -> Ints:
    """Algorithm 4 for the sequences `members`, below the nodes `tops`: rows as of `sequential_candidates`."""
    note_sequences(place.given, data, members, 0, members.size)
    hits = search_group(place.tree, place.given, tops, place.scratch)
    rows, used = _complete(place, hits, documents[members], np.empty((1024, 2), np.int32), 0)
    return rows[:used]


@kernel
def _complete(place: Place, hits: int, documents: Ints, rows: Ints, used: int) -> tuple[Ints, int]:
    """Append the patterns all of whose pieces lie in a document, from the sequences that a search has found.

    Duplicates cannot arise: each pattern waits for one sequence, found once.
    """
    tree, asked, given, scratch, memory = place
    memory.counter[0] += 1
    stamp = memory.counter[0]
    room = 0
    for hit in range(hits):
        s = tree.ids[scratch.found[hit]]
        room += asked.offsets[s + 1] - asked.offsets[s]
    patterns, masks = np.empty(room, np.int32), np.empty(room, np.int64)
    counts = np.zeros(documents.size + 1, np.int64)
    found = 0
    for hit in range(hits):
        s = tree.ids[scratch.found[hit]]
        for k in range(asked.offsets[s], asked.offsets[s + 1]):
            pattern = asked.patterns[k]
            mask = scratch.met[hit]
            for i in range(asked.other_offsets[pattern], asked.other_offsets[pattern + 1]):
                other = asked.others[i]
                if mask == 0:
                    break
                if memory.stamps[other] != stamp:
                    memory.stamps[other] = stamp
                    memory.asked[other] = memory.held[other] = 0
                new = mask & ~memory.asked[other]
                if new != 0:
                    memory.held[other] |= _lies_in(
                        given, asked.columns, asked.starts[other], asked.starts[other + 1], new
                    )
                    memory.asked[other] |= new
                mask &= memory.held[other]
            if mask != 0:
                patterns[found], masks[found] = pattern, mask
                found += 1
                while mask != 0:
                    counts[lowest_bit(mask) + 1] += 1
                    mask &= mask - 1
    for g in range(documents.size):
        counts[g + 1] += counts[g]
    if used + counts[documents.size] > rows.shape[0]:
        longer = np.empty((2 * (used + counts[documents.size]), 2), np.int32)
        longer[:used] = rows[:used]
        rows = longer
    for k in range(found):
        mask = masks[k]
        while mask != 0:
            g = lowest_bit(mask)
            mask &= mask - 1
            at = used + counts[g]
            rows[at, 0], rows[at, 1] = documents[g], patterns[k]
            counts[g] += 1
    # Each document's count has moved to where the next one's rows begin.
    return rows, used + (counts[documents.size - 1] if documents.size else 0)


@kernel
def _lies_in(given: Occurrences, columns: Ints, begin: int, end: int, wanted: int) -> int:
    """Those of the noted sequences `wanted` in which the row `columns[begin:end]` lies."""
    bits = raw(given.bits)
    held = np.int64(0)
    left = np.int64(wanted)
    for i in range(begin, end):
        left &= given.has[columns[i]]
    while left != 0:
        g = lowest_bit(left)
        left &= left - 1
        step = 1 if given.shift[g] == 0 else 0
        at = 0
        for i in range(begin, end):
            row = given.base[g] + given.slot[g * given.columns + columns[i]] * given.words[g]
            at = next_occurrence(bits, row, given.words[g], at)
            if at < 0:
                break
            at += step
        if at >= 0:
            held |= np.int64(1) << g
    return int(held)
