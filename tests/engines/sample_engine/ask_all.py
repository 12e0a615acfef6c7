"""The least engine: no index, so every pair of document and pattern is a candidate."""

import numpy as np

from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.engines.base import Engine, Matches
from winnow.engines.verification.verify import Verifier


class AskAll(Engine):
    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        super().__init__(vocabulary, paths)
        self._verifier = Verifier(self.store, paths)

    def _index(self, new: range) -> None:
        """There is no index."""

    def _match(self, batch: EncodedBatch) -> Matches:
        documents, patterns = every_pair(batch, np.flatnonzero(self.live).astype(np.int32))
        witnesses = self._verifier.verify(batch, documents, patterns)
        held = witnesses >= 0
        funnel = self._funnel(batch, candidates=held.size, verified=held.size, matches=int(held.sum()))
        return Matches(documents[held], patterns[held], witnesses[held], funnel)


def every_pair(batch: EncodedBatch, patterns: Ints) -> tuple[Ints, Ints]:
    """Each document that has nodes with each of the patterns, ascending by document."""
    documents = np.flatnonzero(np.diff(batch.doc_offsets)).astype(np.int32)
    return np.repeat(documents, patterns.size), np.tile(patterns, documents.size)
