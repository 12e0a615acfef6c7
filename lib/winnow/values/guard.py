"""A value filter before a matcher: documents without any value that its patterns ask for need not be matched.

Top-down evaluation with pruning (Miliaraki and Koubarakis, DEBS 2010, §4.4), with shards of the profiles in place of
peers: of each pattern one predicate is in the filter, its most selective or any (§5).
"""

import numpy as np
import numpy.typing as npt

from winnow.arrays.types import Floats, Ints, Longs
from winnow.encoding import EncodedBatch
from winnow.index.codes import LabelCodes
from winnow.patterns.lines import lines_of
from winnow.patterns.store import PatternStore
from winnow.values.bloom import CountingBloom
from winnow.values.predicates import Predicates, asked_kinds, predicates_of, values_of
from winnow.values.selectivity import Selectivity

FALSE_POSITIVES = 0.01


class ValueGuard:
    """The filter of all patterns of a store; without statistics any predicate is as good as another."""

    def __init__(self, store: PatternStore, selectivity: Selectivity | None) -> None:
        self._labels = LabelCodes(store.vocabulary)
        lines = lines_of(store.twigs, 0, len(store), store.height)
        predicates = predicates_of(lines, store.twigs.tests, self._labels.all())
        rows = one_each(predicates, rareness(predicates, selectivity))
        self.open = len(store) - rows.size  # patterns that no value can rule out
        self._kinds = asked_kinds(predicates, len(store.vocabulary))
        self._filter = CountingBloom(max(1, rows.size), FALSE_POSITIVES)
        self._filter.add(predicates.codes[rows])

    def passing(self, batch: EncodedBatch, symbols: Ints) -> npt.NDArray[np.bool_]:
        """Per document of a batch with values whether some pattern could hold; `symbols` are those of paths, signed."""
        if self.open:
            return np.ones(batch.documents, np.bool_)
        values = values_of(batch, symbols, self._labels.all(), self._kinds)
        return self._filter.has_any(values.codes, values.ends)


def rareness(predicates: Predicates, selectivity: Selectivity | None) -> Floats:
    """The lower, the fewer documents have it."""
    return selectivity.documents_with(predicates.codes) if selectivity else np.zeros(predicates.owner.size)


def one_each(predicates: Predicates, weights: Floats) -> Longs:
    """One row for each owner, the lightest."""
    order = np.lexsort((weights, predicates.owner))
    owner = predicates.owner[order]
    first = np.concatenate([[True], owner[1:] != owner[:-1]]) if owner.size else np.zeros(0, np.bool_)
    return order[first].astype(np.int64)
