"""Interning: patterns in post-order to twig ids, equal subtrees to equal ids."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.patterns.twigs import DOCUMENT, KIND

# A node in the stream is its head, its symbol and its test ids; the head holds what `head_of` puts together.
AXIS_BITS, FLAG_BITS, TEST_BITS = 1, 4, 10


class Interned(NamedTuple):
    """The pool as it grows. `slots` is a table of twig ids + 1 with 2**k entries, at most half full."""

    pool: Ints
    offsets: Longs
    slots: Ints
    state: Longs  # [twigs, pool items in use]


def head_of(axis: int, flags: int, tests: int, children: int) -> int:
    return (
        axis | flags << AXIS_BITS | tests << (AXIS_BITS + FLAG_BITS) | children << (AXIS_BITS + FLAG_BITS + TEST_BITS)
    )


@kernel
def _hash(pool: Ints, start: int, end: int) -> int:
    h = np.uint64(end - start)
    for i in range(start, end):
        h = (h ^ np.uint64(np.uint32(pool[i]))) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return int(h >> np.uint64(1))


@kernel
def find_slot(pool: Ints, offsets: Longs, slots: Ints, start: int, end: int) -> int:
    """The slot of the run that equals `pool[start:end]`, or the empty slot where it belongs."""
    slot = _hash(pool, start, end) & (slots.size - 1)
    while slots[slot]:
        known = offsets[slots[slot] - 1]
        if offsets[slots[slot]] - known == end - start:
            k = 0
            while k < end - start and pool[known + k] == pool[start + k]:
                k += 1
            if k == end - start:
                break
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)


@kernel
def intern_runs(runs: Ints, ends: Longs, interned: Interned, ids: Ints) -> None:
    """Write the id of each run `runs[ends[k]:ends[k + 1]]`; the caller has made room for all of them."""
    pool, offsets, slots, state = interned
    for k in range(ids.size):
        start = state[1]
        end = start + ends[k + 1] - ends[k]
        pool[start:end] = runs[ends[k] : ends[k + 1]]
        slot = find_slot(pool, offsets, slots, start, end)
        if slots[slot] == 0:
            state[0] += 1
            slots[slot] = state[0]
            offsets[state[0]] = end
            state[1] = end
        ids[k] = slots[slot] - 1


@kernel
def intern_stream(stream: Ints, interned: Interned, stack: Ints, roots: Ints) -> int:
    """Write the twig of each pattern of `stream` to `roots`; the number of patterns.

    The caller has made room: the pool for all of the stream, the stack for its longest list of siblings.
    """
    pool, offsets, slots, state = interned
    twigs, used = state[0], state[1]
    depth = 0
    patterns = 0
    at = 0
    while at < stream.size:
        head = stream[at]
        flags = (head >> AXIS_BITS) & ((1 << FLAG_BITS) - 1)
        tests = (head >> (AXIS_BITS + FLAG_BITS)) & ((1 << TEST_BITS) - 1)
        children = head >> (AXIS_BITS + FLAG_BITS + TEST_BITS)
        end = used
        pool[end] = flags
        pool[end + 1] = stream[at + 1]
        pool[end + 2] = tests
        end += 3
        for k in range(tests):
            pool[end] = stream[at + 2 + k]
            end += 1
        at += 2 + tests
        depth -= children
        for k in range(children):
            pool[end] = stack[depth + k]
            end += 1
        slot = find_slot(pool, offsets, slots, used, end)
        twig = slots[slot] - 1
        if twig < 0:
            twig = twigs
            slots[slot] = twig + 1
            twigs += 1
            offsets[twigs] = end
            used = end
        if flags & KIND == DOCUMENT:
            roots[patterns] = twig
            patterns += 1
        else:
            stack[depth] = 2 * twig + (head & 1)
            depth += 1
    state[0] = twigs
    state[1] = used
    return patterns


@kernel
def rehash(pool: Ints, offsets: Longs, twigs: int, slots: Ints) -> None:
    mask = slots.size - 1
    for twig in range(twigs):
        slot = _hash(pool, offsets[twig], offsets[twig + 1]) & mask
        while slots[slot]:
            slot = (slot + 1) & mask
        slots[slot] = twig + 1


@kernel
def select_runs(runs: Ints, ends: Longs, chosen: Longs) -> tuple[Ints, Longs]:
    """The runs with these numbers, one after the other."""
    kept = np.zeros(chosen.size + 1, np.int64)
    for k in range(chosen.size):
        kept[k + 1] = kept[k] + ends[chosen[k] + 1] - ends[chosen[k]]
    items = np.empty(kept[-1], np.int32)
    for k in range(chosen.size):
        items[kept[k] : kept[k + 1]] = runs[ends[chosen[k]] : ends[chosen[k] + 1]]
    return items, kept
