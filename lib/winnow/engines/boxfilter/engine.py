"""BoXFilter as published (Moro, Bakalov, Tsotras, VLDB 2007, §4): whole-document sequences against a profile tree.

Documents become Pruefer sequences (§2), patterns the sequences of `boxfilter_sequences`, which are sound for XPath's
meaning. A document is a candidate for a pattern when all sequences of the pattern are subsequences of the document's;
the shared verification has the last word (lines 14-19 of Algorithm 3, 21-27 of Algorithm 4).

`boxfilter` searches the profile tree with one document after the other. `b-boxfilter` puts the documents in a tree of
their own and joins the two, so that one comparison may rule out many profiles for many documents.
"""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np

from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary, document_sequences
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines.base import Engine, Matches
from winnow.engines.boxfilter.index import SequenceIndex
from winnow.engines.boxfilter.sequences import pieces_of
from winnow.engines.verification.verify import Verifier
from winnow.envelope import Counters, EnvelopeTree, Pairs, SequenceSet, join, search_many

_PAIRS = 1 << 24  # bounds what one search can find, and so its memory


class _SequenceEngine(Engine):
    """`compared` says what the last `match` cost: `node_pairs` are the comparisons with envelopes of tree nodes."""

    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        super().__init__(vocabulary, paths)
        self.index = SequenceIndex()
        self.compared = Counters(*[0] * len(Counters._fields))
        self._symbols = PathSymbols(paths, vocabulary)
        self._verifier = Verifier(self.store, paths)

    def candidates(self, batch: EncodedBatch) -> Iterator[Ints]:
        """Rows (document, pattern) that the sequences cannot rule out, ascending by document, group by group."""
        sequences, documents = self._document_sequences(batch)
        self.index.follow(self.live, sequences)
        self.compared = Counters(*[0] * len(Counters._fields))
        size = max(32, _PAIRS // max(1, len(self.index.tree)))
        for first in range(0, len(sequences), size):
            offsets = sequences.offsets[first : first + size + 1]
            flat = sequences.low[offsets[0] : offsets[-1]]
            found = self._find(SequenceSet(offsets - offsets[0], flat, flat), documents[first : first + size])
            summed = Counters(*(a + b for a, b in zip(self.compared, found.counters, strict=True)))
            self.compared = summed._replace(build=found.counters.build)
            yield self.index.candidates(found)

    def _index(self, new: range) -> None:
        self.index.add(pieces_of(self.store.twigs, new.start, new.stop, self.store.height))

    def _match(self, batch: EncodedBatch) -> Matches:
        parts = [np.zeros((0, 3), np.int32)]
        count = 0
        for candidates in self.candidates(batch):
            witnesses = self._verifier.verify(batch, candidates[:, 0], candidates[:, 1])
            parts.append(np.column_stack([candidates, witnesses])[witnesses >= 0])
            count += len(candidates)
        matches = np.concatenate(parts)
        funnel = self._funnel(
            batch, branches=len(self.index.tree), candidates=count, verified=count, matches=len(matches)
        )
        return Matches(matches[:, 0], matches[:, 1], matches[:, 2], funnel)

    def _document_sequences(self, batch: EncodedBatch) -> tuple[SequenceSet, Ints]:
        """Signed like those of the patterns, and whose they are: documents that are not XML have none."""
        symbols, offsets = document_sequences(batch, self.paths)
        signed = np.zeros(len(self.store.vocabulary), np.int32)
        signed[self.paths.symbols[1:]] = self._symbols.signed()[1:]
        flat = signed[symbols]
        whole = np.flatnonzero(np.diff(offsets)).astype(np.int32)
        return SequenceSet(np.unique(offsets), flat, flat), whole

    @abstractmethod
    def _find(self, data: SequenceSet, documents: Ints) -> Pairs: ...


class BoxFilter(_SequenceEngine):
    """Algorithm 3: sequential mode."""

    def _find(self, data: SequenceSet, documents: Ints) -> Pairs:
        return search_many(self.index.tree, data, ids=documents)


class BatchBoxFilter(_SequenceEngine):
    """Algorithm 4: batch mode, with LSearch and RSearch where one of the trees has come to its leaves."""

    def _find(self, data: SequenceSet, documents: Ints) -> Pairs:
        tree = self.index.tree
        return join(tree, EnvelopeTree.bulk_load(data, tree.parameters, ids=documents))
