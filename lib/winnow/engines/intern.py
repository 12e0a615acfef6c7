"""Interning: patterns in post-order to twig ids, equal subtrees to equal ids."""

from typing import NamedTuple

import numpy as np

from winnow.encoding.jit import kernel
from winnow.engines.twigs import DOCUMENT, KIND, Ints, Longs

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
def intern_stream(stream: Ints, interned: Interned, stack: Ints, roots: Ints) -> int:
    """Write the twig of each pattern of `stream` to `roots`; the number of patterns.

    The caller has made room: the pool for all of the stream, the stack for its longest list of siblings.
    """
    pool, offsets, slots, state = interned
    mask = slots.size - 1
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
        slot = _hash(pool, used, end) & mask
        twig = -1
        while slots[slot]:
            known = slots[slot] - 1
            start = offsets[known]
            if offsets[known + 1] - start == end - used:
                k = 0
                while k < end - used and pool[start + k] == pool[used + k]:
                    k += 1
                if k == end - used:
                    twig = known
                    break
            slot = (slot + 1) & mask
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
