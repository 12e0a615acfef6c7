"""Which data sequences could hold some query? By first position, length and labels alone, without a tree of the data.

For `LINE` only: position 0 of a query lies on position 0 of the data. A few queries meet many data sequences; most of
these go before anything is sorted or packed.
"""

import numpy as np
from numpy.typing import NDArray

from winnow.envelope.boxes import Boxes
from winnow.envelope.kernel import Records, kernel
from winnow.envelope.relation import Relation
from winnow.envelope.sequences import SYMBOL_MAX, SYMBOL_MIN, SequenceSet
from winnow.envelope.tree import EnvelopeTree, named_boxes
from winnow.errors import UsageError


def could_hold(tree: EnvelopeTree, data: SequenceSet) -> NDArray[np.bool_]:
    """Per data sequence: False only if no sequence of the tree lies in it."""
    if tree.parameters.relation != Relation.LINE:
        raise UsageError("envelope_relation", "only lines are bound to the first position")
    boxes, _ = named_boxes(data, None, tree.parameters)
    heads, positions, _ = tree.arrays.rows
    low, high = np.full(heads.size, SYMBOL_MIN, np.int64), np.full(heads.size, SYMBOL_MAX, np.int64)
    some = heads["longest"] > 0
    low[some], high[some] = (positions[name][heads["start"][some]] for name in ("low", "high"))
    order = np.lexsort((low, low == high))
    return _screen(heads[order], low[order], high[order], int((low < high).sum()), boxes)


@kernel
def _screen(
    queries: Records, low: NDArray[np.int64], high: NDArray[np.int64], wide: int, data: Boxes
) -> NDArray[np.bool_]:
    """The first `wide` queries take more than one symbol at position 0; the others are in the order of theirs."""
    found = np.zeros(data.heads.size, np.bool_)
    for d in range(found.size):
        given = data.heads[d]
        first = data.positions[given.start].low if given.longest else 0
        last = data.positions[given.start].high if given.longest else 0
        begin = wide + np.searchsorted(low[wide:], first)
        k = 0 if wide else begin
        while k < queries.size and (k < wide or low[k] <= last) and not found[d]:
            if (queries[k].must & ~given.may) == 0 and low[k] <= last and first <= high[k]:
                found[d] = queries[k].shortest <= given.longest
            k = k + 1 if k + 1 != wide else begin
    return found
