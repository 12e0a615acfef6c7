"""How often predicates are met, for the choice of access predicates (Martins and Pereira, §3.3); it is about cost only.

Labels are counted, path by path, while documents are read. A test is taken to let through a share of the values that
depends on its operator.
"""

from collections.abc import Mapping

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Bytes, Floats, Ints, Longs
from winnow.engines.predicates.access import PASSING
from winnow.engines.wfilter.expressions import ROOT
from winnow.engines.wfilter.predicates import keys_of
from winnow.patterns.lines import LEAF

_WILD = 6  # the first counts are those of `*`, of `@*` and of text
_ALWAYS = 1e18  # where there is nothing else


class Selectivity:
    """
    >>> selectivity = Selectivity()
    >>> predicates = np.array([[1, 2, -1], [2, 2, -1], [1, -3, 0]], np.int32)
    >>> selectivity.prefer({1: 9, 2: 3, 3: 7}, 4)
    >>> selectivity.weights(predicates, np.zeros(1, np.uint8), 4).tolist()
    [10.0, 4.0, 0.16]
    """

    def __init__(self) -> None:
        self._seen = Column(np.int64)  # at twice the key of a label, and as the root at the number after it
        self._at_last = 0

    def seen(self, labels: int) -> Longs:
        """Counts to be raised by whoever reads, for a vocabulary of so many labels."""
        self._seen.resize(2 * (labels + 2), 0)
        view: Longs = self._seen.view
        return view

    def prefer(self, counts: Mapping[int, int], labels: int) -> None:
        seen, keys = self.seen(labels), keys_of(np.array(list(counts), np.int32))
        for part in range(2):
            seen[2 * keys + part] += np.array(list(counts.values()), np.int64)

    @property
    def is_stale(self) -> bool:
        """Twice as much has been seen as when weights were last asked for."""
        return int(self._seen.view.sum()) > 2 * self._at_last

    def weights(self, predicates: Ints, ops: Bytes, labels: int) -> Floats:
        """Per predicate (label, what, test); before anything was seen, all labels weigh the same."""
        label, what, test = predicates.T
        seen = self.seen(labels)
        self._at_last = int(seen.sum())
        counts = 1.0 + seen
        counts[:_WILD] = _ALWAYS
        weights: Floats = counts[2 * keys_of(label) + (what == ROOT)]
        tested = np.flatnonzero(test != LEAF)
        of_attribute = tested[what[tested] < 0]
        weights[of_attribute] = np.minimum(weights[of_attribute], counts[2 * keys_of(what[of_attribute])])
        weights[tested] *= PASSING[ops[test[tested]]]
        return weights
