"""WFilter's expressions (Martins and Pereira, §4.2 and §4.5): a pattern as lines, with the tests of values on the way.

A location step becomes a predicate: "this label is at these positions of the path", or "this label is the root". An
attribute with a test is no step but a predicate on the element that has it, and so is a tested text node; every line
through the element asks for it. What the paper cannot say is left out, so that an expression may hold too often.
"""

from typing import Any, NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints, Longs
from winnow.engines.automata.reading import longer
from winnow.patterns.lines import LEAF
from winnow.patterns.twigs import BODY, ELEMENT, FLAGS, KIND, SYMBOL, TESTS, Tests, Twigs
from winnow.patterns.value_tests import NE, NUM_NE

# How an item goes on from those before it: it is the first, the child, or anywhere below; or it is at the same node.
START, CHILD, BELOW, SAME = range(4)
OP_BITS = 2
# A predicate: the label; what is asked of it; the test, or LEAF. What is asked is one of these, or the symbol of an
# attribute of the element, or, for its text, 0.
SELF, POSITION, ROOT = range(1, 4)
OP, LABEL, WHAT, TEST, ITEM = range(5)


class Expressions(NamedTuple):
    """Row k: the items `ends[k]:ends[k + 1]`, ITEM numbers each, from the top down, of pattern `owner[k]`."""

    items: Ints
    ends: Longs
    owner: Ints
    test: Ints  # per row: some test that it asks for, or LEAF
    pure: Ints  # per pattern: 1 if it is one line without tests
    has_text: bool  # some item asks for text nodes


@inlined
def _is_indexed(tests: Tests, test: int) -> bool:
    return bool(tests.op[test] != NE and tests.op[test] != NUM_NE)


@kernel
def _is_absorbed(twigs: Twigs, child: int) -> bool:
    """A predicate on its parent: an attribute or text of the parent itself, with a test that has an index."""
    at = twigs.offsets[child >> 1]
    is_tested = False
    for k in range(twigs.pool[at + TESTS]):
        is_tested = is_tested or _is_indexed(twigs.tests, twigs.pool[at + BODY + k])
    return bool(child & 1 == 0 and twigs.pool[at + FLAGS] & KIND != ELEMENT and is_tested)


@kernel
def _put(items: Ints, used: int, item: tuple[int, int, int, int]) -> Ints:
    items = longer(items, ITEM * used, ITEM * (used + 1))
    items[ITEM * used + OP] = item[OP]
    items[ITEM * used + LABEL] = item[LABEL]
    items[ITEM * used + WHAT] = item[WHAT]
    items[ITEM * used + TEST] = item[TEST]
    return items


@kernel
def _put_tests(twigs: Twigs, twig: int, owner: tuple[int, int], line: Any) -> Any:
    """The tests of a twig, as predicates (label, what) on a node, at the end of the line."""
    items, used = line
    at = twigs.offsets[twig]
    for k in range(twigs.pool[at + TESTS]):
        test = twigs.pool[at + BODY + k]
        if _is_indexed(twigs.tests, test):
            items = _put(items, used, (SAME, owner[0], owner[1], test))
            used += 1
    return items, used


@kernel
def expressions_of(twigs: Twigs, first: int, last: int, height: int) -> Expressions:
    """Those of patterns `first:last`: one for each leaf that is not a predicate on its parent."""
    pool, offsets = twigs.pool, twigs.offsets
    items, line = np.empty(1024, np.int32), np.empty(1024, np.int32)
    ends = np.zeros(1024, np.int64)
    owner, test = np.empty(1024, np.int32), np.empty(1024, np.int32)
    pure = np.zeros(last - first, np.int32)
    stack, stops = np.empty(height + 1, np.int64), np.empty(height + 1, np.int64)  # pool positions of children
    tops = np.zeros(height + 2, np.int64)  # what the node at depth k adds is in `line[tops[k]:tops[k + 1]]`
    rows, has_text = 0, False
    for pattern in range(first, last):
        root = twigs.roots[pattern]
        stack[0] = offsets[root] + BODY
        stops[0] = offsets[root + 1]
        depth, leaves, tests = 0, 0, 0
        while depth >= 0:
            if stack[depth] == stops[depth]:
                depth -= 1
                continue
            child = pool[stack[depth]]
            stack[depth] += 1
            at = offsets[child >> 1]
            tests += pool[at + TESTS]
            if depth > 0 and _is_absorbed(twigs, child):
                continue
            label = pool[at + SYMBOL]
            used = tops[depth]
            op = START if depth == 0 else BELOW if child & 1 else CHILD
            line = _put(line, used, (op, label, ROOT if depth == 0 and child & 1 == 0 else POSITION, LEAF))
            line, used = _put_tests(twigs, child >> 1, (label, SELF), (line, used + 1))
            depth += 1
            stack[depth] = at + BODY + pool[at + TESTS]
            stops[depth] = offsets[(child >> 1) + 1]
            is_leaf = True
            for k in range(stack[depth], stops[depth]):
                if _is_absorbed(twigs, pool[k]):
                    what = pool[offsets[pool[k] >> 1] + SYMBOL]
                    line, used = _put_tests(twigs, pool[k] >> 1, (label, what), (line, used))
                else:
                    is_leaf = False
            tops[depth] = used
            if not is_leaf:
                continue
            leaves += 1
            ends, owner, test = (
                longer(ends, rows + 1, rows + 2),
                longer(owner, rows, rows + 1),
                longer(test, rows, rows + 1),
            )
            items = longer(items, ITEM * ends[rows], ITEM * (ends[rows] + used))
            items[ITEM * ends[rows] : ITEM * (ends[rows] + used)] = line[: ITEM * used]
            ends[rows + 1] = ends[rows] + used
            owner[rows] = pattern
            test[rows] = LEAF
            for k in range(0, ITEM * used, ITEM):
                test[rows] = max(test[rows], line[k + TEST])
                has_text = has_text or line[k + LABEL] == 0 or line[k + WHAT] == 0
            rows += 1
        pure[pattern - first] = leaves == 1 and tests == 0
    return Expressions(items[: ITEM * ends[rows]], ends[: rows + 1], owner[:rows], test[:rows], pure, has_text)
