"""The lines of patterns: from the document node down to each leaf, and to each node with a test that has an index.

A line is what one path either has or has not. Steps are written from the lower end up, as `2 * symbol + axis`.
"""

from typing import Any, NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.patterns.twigs import BODY, FIRST, FLAGS, SYMBOL, TESTS, Twigs
from winnow.patterns.value_tests import NE, NUM_NE

LEAF = -1  # in place of a test: the line ends at a leaf and must be there


class Lines(NamedTuple):
    """Row k: line `steps[ends[k]:ends[k + 1]]` of pattern `owner[k]`, to a leaf (`test[k] == LEAF`) or to a test."""

    steps: Ints
    ends: Longs
    owner: Ints
    test: Ints
    pure: Ints  # per pattern: 1 if it is one line without tests
    exact: Ints  # per pattern: 1 if it is one line with one test, at its end, and the test has an index


@kernel
def _longer(array: Any, room: int) -> Any:
    if array.size >= room:
        return array
    grown = np.empty(2 * room, array.dtype)
    grown[: array.size] = array
    return grown


@kernel
def lines_of(twigs: Twigs, first: int, last: int, height: int) -> Lines:
    """The lines of patterns `first:last`, leaves first to last as in the pattern."""
    pool, offsets = twigs.pool, twigs.offsets
    steps = np.empty(1024, np.int32)
    ends = np.zeros(1024, np.int64)
    owner = np.empty(1024, np.int32)
    test = np.empty(1024, np.int32)
    pure = np.zeros(last - first, np.int32)
    exact = np.zeros(last - first, np.int32)
    stack = np.empty(height + 1, np.int64)  # pool positions of the next child to visit
    stops = np.empty(height + 1, np.int64)
    line = np.empty(height + 1, np.int32)
    rows = 0
    for pattern in range(first, last):
        root = twigs.roots[pattern]
        stack[0] = offsets[root] + BODY
        stops[0] = offsets[root + 1]
        depth = 0
        leaves, tests, indexed_ends = 0, 0, 0
        while depth >= 0:
            if stack[depth] == stops[depth]:
                depth -= 1
                continue
            child = pool[stack[depth]]
            stack[depth] += 1
            at = offsets[child >> 1]
            count = pool[at + TESTS]
            line[depth] = 2 * pool[at + SYMBOL] + (child & 1)
            depth += 1
            stack[depth] = at + BODY + count
            stops[depth] = offsets[(child >> 1) + 1]
            is_leaf = stack[depth] == stops[depth]
            leaves += is_leaf
            tests += count
            for k in range(count + 1):
                kept = LEAF if k == count else pool[at + BODY + k]
                if kept == LEAF and not is_leaf:
                    continue
                if kept != LEAF:
                    op = twigs.tests.op[kept]
                    if op in (NE, NUM_NE):
                        continue
                    indexed_ends += is_leaf and pool[at + FLAGS] & FIRST == 0
                steps = _longer(steps, ends[rows] + depth)
                ends = _longer(ends, rows + 2)
                owner = _longer(owner, rows + 1)
                test = _longer(test, rows + 1)
                for i in range(depth):
                    steps[ends[rows] + i] = line[depth - 1 - i]
                ends[rows + 1] = ends[rows] + depth
                owner[rows] = pattern
                test[rows] = kept
                rows += 1
        pure[pattern - first] = leaves == 1 and tests == 0
        exact[pattern - first] = leaves == 1 and tests == 1 and indexed_ends == 1
    return Lines(steps[: ends[rows]], ends[: rows + 1], owner[:rows], test[:rows], pure, exact)
