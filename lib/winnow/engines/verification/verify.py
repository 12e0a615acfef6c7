"""Verification, shared by all engines: of candidate pairs, those that hold, each with its witness."""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch, PathTable
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines.verification.embed import HEAD, LIST, Memory, Question, verify_pairs
from winnow.patterns.store import PatternStore

_LAST_STAMP = 2**31 - 2**24  # more documents than a batch has


class Verifier:
    """`reference ⊆ candidates` in, `reference` out: exact for every pattern of the store."""

    def __init__(self, store: PatternStore, paths: PathTable) -> None:
        self._store = store
        self._symbols = PathSymbols(paths, store.vocabulary)
        self._lists, self._heads = Column(np.int32), Column(np.int32)
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
            self._lists.view[:] = 0
            self._heads.view[:] = 0
        self._lists.resize(LIST * self._store.twigs.offsets.size, 0)
        self._heads.resize(HEAD * len(self._store.vocabulary), 0)
        return Memory(self._lists.view, self._heads.view, self._counter)
