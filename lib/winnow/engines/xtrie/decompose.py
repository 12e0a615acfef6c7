"""Patterns to rows of XTrie's substring table: simple decompositions (Chan et al., ICDE 2002, §3.1).

A substring is a maximal sequence of labels that are children of one another. A substring ends where a `//` or a `*`
follows, at a leaf, and at every node that branches. A row stands for one substring of one pattern; its parent is the
row that ends where this one begins, or whose path this one continues. Between the ends of the two lie so many levels:
exactly, or, with a `//` on the way, at least. Elements, attributes and text are labels alike.

Beyond the paper:
- An indexed test at a node that has more than this test is a child of the node's row, on the same level.
- The leaf `*` has no label. Without a test it says that there are so many levels of elements below a substring: the
  tail of a row. With a test it is a substring of its own, which every element matches.
- A pattern that forks at the document node has a row with the empty substring for it.
- In an ordered pattern a child of a node that branches ends a substring, because order is between these nodes.

What is given up, so that the table is only necessary: that branches below a `*` meet in one element, tests at a `*`
that is no leaf, order next to a `*` or text, and children of a row beyond `_CHILDREN`.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.engines.automata.reading import longer
from winnow.engines.xtrie.rows import (
    ALL,
    BEFORE,
    BIT,
    BITS,
    FINAL,
    INNER,
    LEAST,
    MASKS,
    OWNER,
    PARENT,
    ROW,
    SPARE,
    TAIL,
    TEST,
    TIMED,
)
from winnow.engines.xtrie.shape import continues, forks, is_wild, keeps_order
from winnow.patterns.lines import LEAF
from winnow.patterns.twigs import ANY_ELEMENT, BODY, DOCUMENT, ELEMENT, FLAGS, KIND, SYMBOL, TESTS, Twigs
from winnow.patterns.value_tests import NE, NUM_NE

_CHILDREN = 62


class Decomposed(NamedTuple):
    """Row k has the substring `labels[ends[k]:ends[k + 1]]`; `SUBSTRING` is still to be filled in."""

    rows: Ints
    masks: Longs
    labels: Ints
    ends: Longs


@kernel
def decompose(twigs: Twigs, first: int, last: int, height: int, first_row: int) -> Decomposed:
    """The rows of patterns `first:last`, in pre-order, numbered from `first_row` on."""
    pool, offsets = twigs.pool, twigs.offsets
    rows, masks = np.empty(1024 * ROW, np.int32), np.empty(1024 * MASKS, np.int64)
    labels, ends = np.empty(4096, np.int32), np.zeros(1024, np.int64)
    # Per open twig: its next child and the last, the row above its children, the way from there, the length of the
    # substring so far, whether its children are in order, and whether the row above has one child, which leads here.
    cursor, stops, above = (
        np.empty(height + 2, np.int64),
        np.empty(height + 2, np.int64),
        np.empty(height + 2, np.int64),
    )
    way, is_deep, run = np.empty(height + 2, np.int64), np.empty(height + 2, np.int64), np.empty(height + 2, np.int64)
    in_order, is_alone = np.empty(height + 2, np.bool_), np.empty(height + 2, np.bool_)
    line = np.empty(height + 2, np.int32)
    # Per row of the pattern: its children, the last of them, and those in order so far.
    children, youngest = np.empty(height + 3, np.int64), np.empty(height + 3, np.int64)
    ordered = np.empty(height + 3, np.int64)
    used = 0
    for pattern in range(first, last):
        begin = used
        depth, twig, axis = 0, twigs.roots[pattern], 0
        while True:
            at = offsets[twig]
            kind, count = pool[at + FLAGS] & KIND, pool[at + TESTS]
            body, stop = at + BODY + count, offsets[twig + 1]
            fork = stop - body
            is_document, is_star = kind == DOCUMENT, is_wild(pool, at)
            indexed = 0
            for k in range(count):
                op = twigs.tests.op[pool[at + BODY + k]]
                indexed += op not in (NE, NUM_NE)
            up, steps, gaps, is_timed = -1, 0, 0, False
            run[depth] = 0
            is_end = is_document and forks(twigs, twig)
            if not is_document:
                up, steps, gaps = above[depth - 1], way[depth - 1] + 1, is_deep[depth - 1] | axis
                is_timed = in_order[depth - 1] and kind == ELEMENT
                line[depth] = pool[at + SYMBOL]
                is_end = fork == 0
                if not is_star:
                    run[depth] = 1 if axis else run[depth - 1] + 1
                    is_end = is_timed or fork != 1 or indexed > 0 or not continues(twigs, pool[body])
            is_tail = is_star and is_end and indexed == 0
            has_tests = not is_star and (indexed > 1 or (indexed == 1 and fork > 0))
            row = up
            if is_tail and up >= 0 and is_alone[depth - 1]:
                rows[ROW * up + TAIL] = steps
                is_end = False
            test = LEAF
            for turn in range(-1, count):
                if turn >= 0:
                    test = pool[at + BODY + turn]
                    if not has_tests or twigs.tests.op[test] in (NE, NUM_NE):
                        continue
                elif not is_end:
                    continue
                elif not has_tests and indexed:
                    for k in range(count - 1, -1, -1):
                        op = twigs.tests.op[pool[at + BODY + k]]
                        if op not in (NE, NUM_NE):
                            test = pool[at + BODY + k]
                parent = up if turn < 0 else row
                if parent >= 0 and children[parent - begin] == _CHILDREN:
                    stop = body
                    continue
                rows, masks = (
                    longer(rows, ROW * used, ROW * (used + 1)),
                    longer(masks, MASKS * used, MASKS * (used + 1)),
                )
                labels, ends = longer(labels, ends[used], ends[used] + depth + 1), longer(ends, used + 1, used + 2)
                ends[used + 1] = ends[used]
                if is_star and not is_tail:
                    labels[ends[used]] = ANY_ELEMENT
                    ends[used + 1] += 1
                else:
                    end = depth
                    if is_tail:  # the substring of the row above
                        while end > 0 and run[end] == 0:
                            end -= 1
                    for i in range(end - run[end] + 1, end + 1):
                        labels[ends[used + 1]] = line[i]
                        ends[used + 1] += 1
                at_row = ROW * used
                rows[at_row + PARENT] = first_row + parent if parent >= 0 else -1
                least = 0 if is_tail or turn >= 0 else -steps if gaps else steps
                rows[at_row + LEAST] = least
                rows[at_row + OWNER] = pattern
                rows[at_row + TEST] = test
                rows[at_row + TAIL] = steps if is_tail else 0
                rows[at_row + BITS] = TIMED if is_timed and turn < 0 else 0
                rows[at_row + BIT] = 0
                masks[MASKS * used + BEFORE] = 0
                masks[MASKS * used + ALL] = 0
                children[used - begin] = 0
                ordered[used - begin] = 0
                if parent >= 0:
                    bit = children[parent - begin]
                    rows[at_row + BIT] = bit
                    rows[ROW * parent + BITS] |= INNER
                    masks[MASKS * parent + ALL] |= 1 << bit
                    children[parent - begin] += 1
                    youngest[parent - begin] = used
                    if is_timed and turn < 0:
                        masks[MASKS * used + BEFORE] = ordered[parent - begin]
                        ordered[parent - begin] |= 1 << bit
                if turn < 0:
                    row = used
                used += 1
            cursor[depth], stops[depth] = body, stop
            in_order[depth] = keeps_order(twigs, twig)
            is_alone[depth] = fork == 1 and (is_alone[depth - 1] if is_star else is_end and not has_tests)
            above[depth] = row
            way[depth], is_deep[depth] = (steps, gaps) if row == up else (0, 0)
            while depth >= 0 and cursor[depth] == stops[depth]:
                depth -= 1
            if depth < 0:
                break
            twig, axis = pool[cursor[depth]] >> 1, pool[cursor[depth]] & 1
            cursor[depth] += 1
            depth += 1
        row = begin
        while row < used and children[row - begin] == 1:
            if rows[ROW * youngest[row - begin] + LEAST] < 0:
                rows[ROW * row + BITS] |= SPARE
            row = youngest[row - begin]
        if row < used:
            rows[ROW * row + BITS] |= FINAL
    return Decomposed(rows[: ROW * used], masks[: MASKS * used], labels[: ends[used]], ends[: used + 1])
