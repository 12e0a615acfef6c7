"""The profile side of engine `boxfilter`: distinct sequences in one envelope tree, and the patterns they belong to.

The tree follows the live patterns by insert and delete (BoXFilter §4.3), never by building anew. A pattern is looked
at when its longest sequence turns up, and is a candidate when all the others did, too.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.engines.boxfilter.sequences import Pieces
from winnow.envelope import (
    ANY,
    ANY_NEGATIVE,
    EnvelopeTree,
    Pairs,
    Parameters,
    Relation,
    SequenceSet,
    SymbolOrder,
    delete,
    insert,
    symbol_order,
)
from winnow.patterns.intern import select_runs
from winnow.patterns.runs import RunTable
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT


class Postings(NamedTuple):
    """Sequence s is the longest of the live patterns `patterns[offsets[s]:offsets[s + 1]]`."""

    offsets: Longs
    patterns: Ints
    required_offsets: Longs  # per pattern, into
    required: Ints  # its sequences


class SequenceIndex:
    def __init__(self) -> None:
        self.sequences = RunTable()
        self.tree = _empty_tree(SymbolOrder())
        self._in_tree = Column(np.bool_)
        self._required, self._offsets, self._longest = Column(np.int32), Column(np.int64), Column(np.int32)
        self._offsets.resize(1, 0)
        self._live: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._postings = Postings(np.zeros(1, np.int64), np.zeros(0, np.int32), self._offsets.view, self._required.view)

    def add(self, pieces: Pieces) -> None:
        """Take the sequences of further patterns."""
        ids = self.sequences.add(pieces.symbols, pieces.ends)
        lengths = np.diff(pieces.ends)
        owner = np.repeat(np.arange(pieces.patterns.size - 1), np.diff(pieces.patterns))
        by_length = np.lexsort((-lengths, owner))  # the longest of each pattern comes first
        self._longest.extend(ids[by_length[pieces.patterns[:-1]]])
        self._offsets.extend(len(self._required) + pieces.patterns[1:])
        self._required.extend(ids)

    def follow(self, live: npt.NDArray[np.bool_], documents: SequenceSet) -> None:
        """Bring the tree and the postings in line with the live patterns, before they meet these documents.

        The first batch gives the order of symbols. Evidence, 200 invoices and their 6,026 profiles: 1.45 times fewer
        pairs of sequences are compared than in the order of arrival if the first batch is all of them, 1.1 times fewer
        if it is two of them; in an order made from the profiles instead, 1.1 times fewer.
        """
        if np.array_equal(live, self._live):
            return
        if not len(self.tree):
            self.tree = _empty_tree(symbol_order(documents))
        counts = np.diff(self._offsets.view)
        wanted = np.zeros(len(self.sequences), np.bool_)
        wanted[self._required.view[np.repeat(live, counts)]] = True
        self._in_tree.resize(wanted.size, 0)
        present = self._in_tree.view
        gone, new = np.flatnonzero(present & ~wanted), np.flatnonzero(wanted & ~present)
        if gone.size:
            self.tree = delete(self.tree, gone.astype(np.int32))
        if new.size:
            runs = select_runs(self.sequences.pool, self.sequences.offsets, new)
            self.tree = insert(self.tree, _boxes(*runs), ids=new.astype(np.int32))
        present[:] = wanted
        patterns = np.flatnonzero(live).astype(np.int32)
        longest = self._longest.view[patterns]
        offsets = np.zeros(wanted.size + 1, np.int64)
        np.cumsum(np.bincount(longest, minlength=wanted.size), out=offsets[1:])
        patterns = patterns[np.argsort(longest, kind="stable")]
        self._postings = Postings(offsets, patterns, self._offsets.view, self._required.view)
        self._live = live.copy()

    def candidates(self, found: Pairs) -> Ints:
        """Rows (document, pattern), ascending by document, of which all sequences were found."""
        return _complete(found.data, found.queries, self._postings)


def _empty_tree(order: SymbolOrder) -> EnvelopeTree:
    return EnvelopeTree.bulk_load(SequenceSet.from_lists([]), Parameters(relation=Relation.SUBSEQUENCE, order=order))


def _boxes(symbols: Ints, offsets: Longs) -> SequenceSet:
    low, high = symbols.copy(), symbols.copy()
    for wildcard, (lowest, highest) in ((ANY_ELEMENT, ANY), (ANY_ATTRIBUTE, ANY_NEGATIVE)):
        low[symbols == wildcard] = lowest
        high[symbols == wildcard] = highest
    return SequenceSet(offsets, low, high)


@kernel
def _complete(documents: Ints, sequences: Ints, postings: Postings) -> Ints:
    """Pairs come grouped by document. Duplicates cannot arise: each pattern waits for one sequence, found once."""
    rows = np.empty((1024, 2), np.int32)
    stamps = np.zeros(postings.offsets.size, np.int64)  # per sequence, 1 + the start of the last group that has it
    count, start = 0, 0
    while start < documents.size:
        stop = start
        while stop < documents.size and documents[stop] == documents[start]:
            stamps[sequences[stop]] = start + 1
            stop += 1
        for k in range(start, stop):
            first, last = postings.offsets[sequences[k]], postings.offsets[sequences[k] + 1]
            if count + last - first > rows.shape[0]:
                grown = np.empty((2 * (count + last - first), 2), np.int32)
                grown[:count] = rows[:count]
                rows = grown
            for i in range(first, last):
                pattern = postings.patterns[i]
                is_complete = True
                for j in range(postings.required_offsets[pattern], postings.required_offsets[pattern + 1]):
                    is_complete = is_complete and stamps[postings.required[j]] == start + 1
                if is_complete:
                    rows[count, 0] = documents[start]
                    rows[count, 1] = pattern
                    count += 1
        start = stop
    return rows[:count]
