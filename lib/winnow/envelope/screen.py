"""Which data sequences could hold some query? By first position, length and labels alone, without a tree of the data.

For `LINE` only: position 0 of a query lies on position 0 of the data. A few queries meet many data sequences; most of
these go before anything is sorted or packed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.envelope.relation import Relation
from winnow.envelope.sequences import SYMBOL_MAX, SYMBOL_MIN
from winnow.envelope.tree import EnvelopeTree
from winnow.errors import UsageError


class Outlines(NamedTuple):
    """Of sequences of single symbols: the first one, how many there are, and the bits of all (see boxes.py)."""

    first: NDArray[np.int32]
    size: NDArray[np.int32]
    labels: NDArray[np.uint64]


def could_hold(tree: EnvelopeTree, data: Outlines) -> NDArray[np.bool_]:
    """Per data sequence: False only if no sequence of the tree lies in it."""
    if tree.parameters.relation != Relation.LINE:
        raise UsageError("envelope_relation", "only lines are bound to the first position")
    if tree.parameters.order.ranks or tree.parameters.order.negative:
        raise UsageError("symbol_order", "the data has another order of symbols")
    heads, positions = tree.arrays.rows
    low, high = np.full(heads.size, SYMBOL_MIN, np.int64), np.full(heads.size, SYMBOL_MAX, np.int64)
    some = heads["longest"] > 0
    low[some], high[some] = (positions[name][heads["start"][some]] for name in ("low", "high"))
    order = np.lexsort((low, low == high))
    must, shortest = (np.ascontiguousarray(heads[name][order]) for name in ("must", "shortest"))
    return _screen(_Queries(low[order], high[order], must, shortest), data)


class _Queries(NamedTuple):
    """First those that take more than one symbol at position 0, then the others; each in the order of the lowest."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    must: NDArray[np.uint64]
    shortest: NDArray[np.int32]


@kernel
def _screen(queries: _Queries, data: Outlines) -> NDArray[np.bool_]:
    low, high, must, shortest = queries
    wide = int(np.sum(low < high))
    found = np.zeros(data.first.size, np.bool_)
    for d in range(found.size):
        first, size, others = data.first[d], data.size[d], ~data.labels[d]
        k = 0
        while k < wide and low[k] <= first and not found[d]:
            found[d] = (must[k] & others) == 0 and first <= high[k] and shortest[k] <= size
            k += 1
        k = wide + np.searchsorted(low[wide:], first)
        while k < low.size and low[k] == first and not found[d]:
            found[d] = (must[k] & others) == 0 and shortest[k] <= size
            k += 1
    return found
