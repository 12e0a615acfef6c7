"""The columns of labels in the trees of an index, and how often documents have them.

A label gets its column when a document or a pattern of the index first has it, and keeps it. Labels that documents have
together come together in the first batch, so their columns are neighbours, and intervals of columns tell kinds of
documents apart. Of the labels of a sequence the rarest is its **access label**: without it nothing else is looked at.
"""

from collections.abc import Sequence

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.types import Floats, Ints, Longs
from winnow.encoding import Vocabulary
from winnow.envelope import ACCESS, ANY_COLUMN, FIRST_COLUMN, SYMBOL_MIN, SequenceSet
from winnow.index.codes import text_codes
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT
from winnow.values.selectivity import Selectivity

UNKNOWN = ACCESS - 1  # of a document's label that no pattern has


class LabelColumns:
    """Columns by symbol, and by column the share of documents: where nothing is known, a label is rare."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._columns = Column(np.int32)  # per symbol, 0 without one
        self._weights = Column(np.float64)
        self._weights.resize(FIRST_COLUMN, 0)
        self._weights.view[:] = 2.0  # any element, any attribute

    def __len__(self) -> int:
        return len(self._weights)

    @property
    def weights(self) -> Floats:
        weights: Floats = self._weights.view
        return weights

    def freeze(self, wanted: Ints, documents: tuple[Ints, Longs], selectivity: Selectivity | None) -> None:
        """Give columns to the labels `wanted` of patterns, in the order in which documents have them, and weigh them.

        The weights are those of `selectivity`, if there is one, else the documents are a sample. They stay as they are:
        an access label is part of a sequence in the tree.
        """
        symbols, offsets = documents
        labels = np.abs(symbols)
        met, first = np.unique(labels, return_index=True)
        order = np.full(len(self._vocabulary), labels.size)
        order[met] = first
        self.add(wanted[np.argsort(order[wanted], kind="stable")])
        if selectivity is None:
            owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
            pairs = np.unique(owner * np.int64(len(self)) + self._columns.view[labels]) % len(self)
            shares = np.bincount(pairs, minlength=len(self)) / max(offsets.size - 1, 1)
            self._weights.view[FIRST_COLUMN:] = shares[FIRST_COLUMN:]
        else:
            known = np.flatnonzero(self._columns.view)
            codes = text_codes(self._vocabulary.labels())[known]
            self._weights.view[self._columns.view[known]] = selectivity.documents_labelled(codes)

    def preset(self, labels: Sequence[str], shares: Sequence[float]) -> None:
        """Give the first columns to these labels, with their weights: those of an index that is stored."""
        symbols = np.array([self._vocabulary.add(label) for label in labels], np.int32)
        self.add(symbols)
        self._weights.view[self._columns.view[symbols]] = shares

    def add(self, symbols: Ints) -> None:
        """Columns for labels that have none yet, in this order."""
        self._columns.resize(len(self._vocabulary), 0)
        new = symbols[self._columns.view[symbols] == 0]
        new = new[np.sort(np.unique(new, return_index=True)[1])]
        self._columns.view[new] = np.arange(len(self), len(self) + new.size)
        self._weights.resize(len(self) + new.size, 0)

    def of_paths(self, signed: Ints) -> Ints:
        """Per path what stands for its last step in a document's sequence: a column, negative for an attribute."""
        self._columns.resize(len(self._vocabulary), 0)
        columns = self._columns.view[np.abs(signed)]
        unknown = np.where(signed < 0, SYMBOL_MIN, UNKNOWN)
        return np.where(columns == 0, unknown, np.sign(signed) * columns).astype(np.int32)

    def boxes(self, symbols: Ints, offsets: Longs) -> SequenceSet:
        """Sequences of patterns as rows of a tree: their access position, then their symbols as columns."""
        named = np.abs(symbols[(symbols != ANY_ELEMENT) & (symbols != ANY_ATTRIBUTE)])
        self.add(named)
        low, high, starts = _boxes(symbols, offsets, self._columns.view, self._weights.view)
        return SequenceSet(starts, low, high)


@kernel
def _boxes(symbols: Ints, offsets: Longs, columns: Ints, weights: Floats) -> tuple[Ints, Ints, Longs]:
    starts = offsets + np.arange(offsets.size)
    low, high = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.int32)
    for k in range(offsets.size - 1):
        access = ANY_COLUMN
        at = starts[k] + 1
        for i in range(offsets[k], offsets[k + 1]):
            symbol = symbols[i]
            if symbol == ANY_ELEMENT:
                low[at], high[at] = 0, ACCESS - 1
            elif symbol == ANY_ATTRIBUTE:
                low[at], high[at] = SYMBOL_MIN, -1
            else:
                column = columns[abs(symbol)]
                if weights[column] < weights[access] or access == ANY_COLUMN:
                    access = column
                low[at] = high[at] = column if symbol > 0 else -column
            at += 1
        low[starts[k]] = high[starts[k]] = ACCESS + access
    return low, high, starts
