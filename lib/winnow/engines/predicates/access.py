"""Which branch of a pattern to wait for: the one that the fewest documents have.

A pattern that is not one bare line is looked at only when its access branch turns up: a line, or a line whose end
passes a test that has an index. Any branch would do (all are necessary); a rare one is met less often. How rare values
are is a guess by their operator, or known from a sample of documents.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Floats, Ints, Longs
from winnow.index.codes import text_codes
from winnow.patterns.lines import LEAF
from winnow.patterns.store import PatternStore
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT
from winnow.values.predicates import equalities_of
from winnow.values.selectivity import UNKNOWN, Selectivity
from winnow.xpath.pattern import Op

# How many of the values are expected to pass; only the order matters, and only for cost.
PASSING = np.ones(len(Op))
PASSING[[Op.EQ, Op.NUM_EQ]] = UNKNOWN
PASSING[Op.STARTS_WITH] = 0.1
PASSING[Op.CONTAINS] = 0.2
PASSING[[Op.LT, Op.LE, Op.GT, Op.GE]] = 0.6


class Branches(NamedTuple):
    """Rows of patterns that are more than a bare line, ascending by owner: their lines to leaves and to tests."""

    owner: Ints
    line: Ints
    test: Ints
    passing: Floats  # see `passing`


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


def passing(symbol: Ints, test: Ints, store: PatternStore, selectivity: Selectivity | None) -> Floats:
    """Per line that ends at a symbol with a test: the share of the nodes there that are expected to pass."""
    tests = store.twigs.tests
    share = np.ones(test.size)
    is_tested = test != LEAF
    share[is_tested] = PASSING[tests.op[test[is_tested]]]
    if selectivity is not None:
        labels = text_codes(store.vocabulary.labels())
        asked = equalities_of(symbol, test, tests, labels)
        share[asked.row] = selectivity.share(asked.codes, labels[asked.symbol])
    return share


def meeting(symbol: Ints, test: Ints, store: PatternStore, selectivity: Selectivity | None) -> Floats:
    """Per line, as in `passing`: the share of documents that are expected to have such a node.

    Where nothing is known, a test rules out more than a line does.
    """
    if selectivity is None:
        return np.where(test == LEAF, 1.0, 0.0)
    labels = text_codes(store.vocabulary.labels())
    asked = equalities_of(symbol, test, store.twigs.tests, labels)
    named = np.flatnonzero((symbol != ANY_ELEMENT) & (symbol != ANY_ATTRIBUTE))
    share = passing(symbol, test, store, None)
    share[named] *= selectivity.documents_labelled(labels[np.abs(symbol[named])])
    share[asked.row] = selectivity.documents_with(asked.codes)
    return share


def choose(branches: Branches, exact: Ints, weights: Floats) -> Accesses:
    """`weights` says of each line how often documents have it; `exact` of each pattern that its one test decides it."""
    rows = _rarest(branches, exact, weights)
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
def _rarest(branches: Branches, exact: Ints, weights: Floats) -> Longs:
    """One row for each owner."""
    rows = np.empty(branches.owner.size, np.int64)
    count = 0
    best = 0.0
    for k in range(branches.owner.size):
        test = branches.test[k]
        weight = 1.0 + weights[branches.line[k]]
        if test != LEAF:
            weight = weight * branches.passing[k] if not exact[branches.owner[k]] else 0.0
        if k == 0 or branches.owner[k] != branches.owner[k - 1]:
            count += 1
        elif weight >= best:
            continue
        rows[count - 1] = k
        best = weight
    return rows[:count]
