"""The profile side of both engines: the patterns' access pieces in one envelope tree, and what waits for them.

The tree follows the live patterns by insert and delete (BoXFilter §4.3); what searches read is packed from it when it
has changed.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from winnow.arrays.column import Column
from winnow.arrays.types import Ints, Longs
from winnow.encoding import Vocabulary
from winnow.engines.boxfilter.candidates import Asked
from winnow.engines.boxfilter.labels import LabelColumns
from winnow.engines.boxfilter.sequences import Pieces
from winnow.envelope import (
    EnvelopeTree,
    PackedTree,
    Parameters,
    Relation,
    SequenceSet,
    columns_of,
    delete,
    insert,
    pack_rows,
)
from winnow.patterns.intern import select_runs
from winnow.patterns.runs import RunTable
from winnow.patterns.twigs import ANY_ELEMENT
from winnow.values.selectivity import Selectivity


class SequenceIndex:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.sequences = RunTable()
        self.labels = LabelColumns(vocabulary)
        self.tree = EnvelopeTree.bulk_load(SequenceSet.from_lists([]), Parameters(relation=Relation.SUBSEQUENCE))
        self._packed: PackedTree | None = None
        self._in_tree = Column(np.bool_)
        self._required, self._offsets = Column(np.int32), Column(np.int64)  # per pattern: its pieces
        self._others, self._other_offsets = Column(np.int32), Column(np.int64)
        self._access = Column(np.int32)  # per pattern: its access piece
        self._offsets.resize(1, 0)
        self._other_offsets.resize(1, 0)
        self._starts, self._columns = Column(np.int64), Column(np.int32)  # per sequence: what it asks for
        self._starts.resize(1, 0)
        self._access_weights = Column(np.float64)
        self._live: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._asked: Asked | None = None
        self._is_frozen = False

    def add(self, pieces: Pieces) -> None:
        """Take the sequences of further patterns."""
        self._required.extend(self.sequences.add(pieces.symbols, pieces.ends))
        self._offsets.extend(self._offsets.view[-1] + pieces.patterns[1:])

    @property
    def packed(self) -> PackedTree:
        """The tree as searches read it."""
        if self._packed is None:
            self._packed = pack_rows(self.tree, self.labels.weights)
        return self._packed

    @property
    def access(self) -> Ints:
        """Per pattern, its access piece."""
        access: Ints = self._access.view
        return access

    def preset(self, labels: Sequence[str], shares: Sequence[float]) -> None:
        """Columns and weights are those of an index that is stored; documents have no say in them."""
        self.labels.preset(labels, shares)
        self._is_frozen = True

    def place(self) -> None:
        """Choose the access pieces of patterns that have none yet."""
        self._take_new(lambda: (np.zeros(0, np.int32), np.zeros(1, np.int64)), None)

    def boxes(self, sequences: Longs) -> SequenceSet:
        """These sequences as rows of a tree."""
        return self.labels.boxes(*select_runs(self.sequences.pool, self.sequences.offsets, sequences))

    def adopt(self, tree: EnvelopeTree, live: npt.NDArray[np.bool_]) -> None:
        """Use a tree that is stored, its rows named by sequences; those of no live pattern have other names, too.

        Every access piece of a live pattern must be in it.
        """
        self.place()
        self.tree, self._packed = tree, pack_rows(tree, self.labels.weights)
        self._in_tree.resize(max(len(self.sequences), int(tree.arrays.ids.max(initial=-1)) + 1), 1)
        self._in_tree.view[:] = True
        self._ask(live)

    def follow(
        self,
        live: npt.NDArray[np.bool_],
        documents: Callable[[], tuple[Ints, Longs]],
        selectivity: Selectivity | None,
    ) -> Asked:
        """Bring the tree in line with the live patterns, before they meet these documents; what they wait for.

        `documents` are sequences of signed symbols. The first ones give labels their order and, without a selectivity,
        their weights.
        """
        if self._asked is not None and np.array_equal(live, self._live):
            return self._asked
        self._take_new(documents, selectivity)
        access = self._access.view[np.flatnonzero(live)]
        wanted = np.zeros(max(len(self.sequences), len(self._in_tree)), np.bool_)
        wanted[access] = True
        self._in_tree.resize(wanted.size, 0)
        present = self._in_tree.view
        gone, new = np.flatnonzero(present & ~wanted), np.flatnonzero(wanted & ~present)
        if gone.size:
            self.tree = delete(self.tree, gone.astype(np.int32))
        if new.size:
            self.tree = insert(self.tree, self.boxes(new), ids=new.astype(np.int32))
        present[:] = wanted
        self._packed = None
        return self._ask(live)

    def _ask(self, live: npt.NDArray[np.bool_]) -> Asked:
        patterns = np.flatnonzero(live).astype(np.int32)
        access = self._access.view[patterns]
        offsets = np.zeros(len(self._in_tree) + 1, np.int64)
        np.cumsum(np.bincount(access, minlength=len(self._in_tree)), out=offsets[1:])
        waiting = patterns[np.argsort(access, kind="stable")]
        others = self._other_offsets.view, self._others.view
        self._live, self._asked = live.copy(), Asked(offsets, waiting, *others, self._starts.view, self._columns.view)
        return self._asked

    def _labels_of_patterns(self) -> Ints:
        labels = np.unique(np.abs(self.sequences.pool))
        return labels[labels < ANY_ELEMENT]

    def _take_new(self, documents: Callable[[], tuple[Ints, Longs]], selectivity: Selectivity | None) -> None:
        """Columns for the sequences that have none yet, and an access piece for their patterns."""
        if not self._is_frozen:
            self.labels.freeze(self._labels_of_patterns(), documents(), selectivity)
            self._is_frozen = True
        known = len(self._starts) - 1
        new = np.arange(known, len(self.sequences))
        boxes = self.boxes(new)
        columns = columns_of(boxes)
        is_access = np.zeros(columns.size, np.bool_)
        is_access[boxes.offsets[:-1]] = True
        self._access_weights.extend(self.labels.weights[columns[is_access]])
        self._columns.extend(columns[~is_access])
        self._starts.extend(self._starts.view[-1] + (boxes.offsets - np.arange(boxes.offsets.size))[1:])
        first = len(self._access)
        offsets = self._offsets.view[first:]
        required = self._required.view[offsets[0] :]
        owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        lengths = np.diff(self._starts.view)[required]
        order = np.lexsort((-lengths, self._access_weights.view[required], owner))
        is_chosen = np.zeros(required.size, np.bool_)
        is_chosen[order[offsets[:-1] - offsets[0]]] = True  # the rarest of each pattern; of equals, the longest
        self._access.extend(required[is_chosen])
        self._others.extend(required[~is_chosen])
        counts = np.bincount(owner[~is_chosen], minlength=offsets.size - 1)
        self._other_offsets.extend(self._other_offsets.view[-1] + np.cumsum(counts))
