"""Which branch of a pattern to wait for: the one that the fewest documents have.

A pattern that is not one bare line is looked at only when its access branch turns up: a line, or a line whose end
passes a test that has an index. Any branch would do (all are necessary); a rare one is met less often.
"""

from typing import NamedTuple

import numpy as np

from winnow.encoding.jit import kernel
from winnow.engines.lines import LEAF
from winnow.engines.twigs import Bytes, Floats, Ints, Longs
from winnow.xpath.pattern import Op

# How many of the values are expected to pass; only the order matters, and only for cost.
PASSING = np.ones(len(Op))
PASSING[[Op.EQ, Op.NUM_EQ]] = 0.02
PASSING[Op.STARTS_WITH] = 0.1
PASSING[Op.CONTAINS] = 0.2
PASSING[[Op.LT, Op.LE, Op.GT, Op.GE]] = 0.6


class Branches(NamedTuple):
    """Rows of patterns that are more than a bare line, ascending by owner: their lines to leaves and to tests."""

    owner: Ints
    line: Ints
    test: Ints


class Rows(NamedTuple):
    offsets: Longs
    items: Ints


class Accesses(NamedTuple):
    """Per line: the patterns that wait for it, and those, `entry >> 1`, that wait for a test at its end.

    The lowest bit of an entry says that then the pattern holds; else it is a candidate.
    """

    waiting: Rows
    offsets: Longs
    test: Ints
    entry: Ints


def choose(branches: Branches, ops: Bytes, exact: Ints, weights: Floats) -> Accesses:
    """`weights` says of each line how often documents have it; `exact` of each pattern that its one test decides it."""
    rows = _rarest(branches, PASSING[ops], exact, weights)
    rows = rows[np.argsort(branches.line[rows], kind="stable")]
    is_bare = branches.test[rows] == LEAF
    bare, tested = rows[is_bare], rows[~is_bare]
    owner = branches.owner[tested]
    return Accesses(
        Rows(_offsets(branches.line[bare], weights.size), branches.owner[bare]),
        _offsets(branches.line[tested], weights.size),
        branches.test[tested],
        2 * owner + exact[owner],
    )


def _offsets(line: Ints, lines: int) -> Longs:
    offsets = np.zeros(lines + 1, np.int64)
    np.cumsum(np.bincount(line, minlength=lines), out=offsets[1:])
    return offsets


@kernel
def _rarest(branches: Branches, passing: Floats, exact: Ints, weights: Floats) -> Longs:
    """One row for each owner."""
    rows = np.empty(branches.owner.size, np.int64)
    count = 0
    best = 0.0
    for k in range(branches.owner.size):
        test = branches.test[k]
        weight = 1.0 + weights[branches.line[k]]
        if test != LEAF:
            weight = weight * passing[test] if not exact[branches.owner[k]] else 0.0
        if k == 0 or branches.owner[k] != branches.owner[k - 1]:
            count += 1
        elif weight >= best:
            continue
        rows[count - 1] = k
        best = weight
    return rows[:count]
