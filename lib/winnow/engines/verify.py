"""Verification, shared by all engines: of candidate pairs, those that hold, each with its witness."""

import numpy as np

from winnow.encoding import EncodedBatch, PathTable
from winnow.engines.column import Column
from winnow.engines.embed import Memory, Question, verify_pairs
from winnow.engines.store import PatternStore
from winnow.engines.symbols import PathSymbols
from winnow.engines.twigs import Ints

_LAST_STAMP = 2**31 - 2**24  # more documents than a batch has


class Verifier:
    """`reference ⊆ candidates` in, `reference` out: exact for every pattern of the store."""

    def __init__(self, store: PatternStore, paths: PathTable) -> None:
        self._store = store
        self._symbols = PathSymbols(paths, store.vocabulary)
        self._twigs = [Column(np.int32) for _ in range(3)]
        self._heads = [Column(np.int32) for _ in range(2)]
        self._counter = np.zeros(1, np.int64)

    def verify(self, batch: EncodedBatch, documents: Ints, patterns: Ints) -> Ints:
        """Per pair, ascending by document: the node that proves it, or -1 when the pattern does not hold there."""
        witnesses = np.empty(documents.size, np.int32)
        if documents.size:
            pairs = np.stack([documents, patterns], axis=1).astype(np.int32)
            question = Question(self._symbols.signed(), self._store.twigs, pairs, self._store.height)
            verify_pairs(batch, question, self._memory(), witnesses)
        return witnesses

    def _memory(self) -> Memory:
        if self._counter[0] > _LAST_STAMP:
            self._counter[0] = 0
            self._twigs[0].view[:] = 0
            self._heads[0].view[:] = 0
        for column in self._twigs:
            column.resize(self._store.twigs.offsets.size, 0)
        for column in self._heads:
            column.resize(len(self._store.vocabulary), 0)
        stamp, begin, end = (column.view for column in self._twigs)
        head_stamp, head = (column.view for column in self._heads)
        return Memory(stamp, begin, end, head_stamp, head, self._counter)
