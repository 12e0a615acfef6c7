"""BoXFilter as published (Moro, Bakalov, Tsotras, VLDB 2007, §4): whole-document sequences against a profile tree.

Documents become Pruefer sequences (§2), patterns the sequences of `boxfilter.sequences`, which are sound for XPath's
meaning. A document is a candidate for a pattern when all sequences of the pattern are subsequences of the document's;
the shared verification has the last word (lines 14-19 of Algorithm 3, 21-27 of Algorithm 4).

`boxfilter` searches the profile tree with one document after the other. `b-boxfilter` puts the documents in a tree of
their own and joins the two, so that one comparison may rule out many profiles for many documents.
"""

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary, document_sequences
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines.base import Engine, Matches
from winnow.engines.boxfilter.candidates import Place, grouped_candidates, new_memory, sequential_candidates
from winnow.engines.boxfilter.index import SequenceIndex
from winnow.engines.boxfilter.sequences import pieces_of
from winnow.engines.verification.verify import Verifier
from winnow.envelope import (
    GROUP,
    Counters,
    Sequences,
    build_data_tree,
    empty_occurrences,
    new_scratch,
    starting_points,
)

_AT_ONCE = 4 * GROUP  # documents whose candidates are held together


class DocumentSequences(NamedTuple):
    """Of the documents that have one: those that are not XML have none."""

    sequences: Sequences
    documents: Ints


class _SequenceEngine(Engine):
    """`compared` says what the last `match` cost, `nodes_read` how many nodes of the tree it looked into."""

    _noted: int  # documents that are looked at together

    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        super().__init__(vocabulary, paths)
        self.index = SequenceIndex(vocabulary)
        self.compared = Counters(*[0] * len(Counters._fields))
        self.nodes_read = 0
        self._symbols = PathSymbols(paths, vocabulary)
        self._verifier = Verifier(self.store, paths)

    def candidates(self, batch: EncodedBatch) -> Iterator[Ints]:
        """Rows (document, pattern) that the sequences cannot rule out, each part ascending by document."""
        place, data = self._place(batch)
        found = 0
        for rows in self._find(place, data):
            found += len(rows)
            yield rows
        node_pairs, leaf_pairs, compared = place.scratch.tally.tolist()
        stream = data.documents.size
        self.nodes_read = int(place.scratch.read.sum())
        self.compared = Counters(len(self.index.tree), stream, node_pairs, leaf_pairs, compared, found)

    def document_sequences(self, batch: EncodedBatch) -> DocumentSequences:
        """As the index sees them: labels that no pattern has are all the same."""
        symbols, offsets = document_sequences(batch, self.index.labels.of_paths(self._symbols.signed()))
        whole = np.flatnonzero(np.diff(offsets)).astype(np.int32)
        return DocumentSequences(Sequences(symbols, np.unique(offsets)), whole)

    def _index(self, new: range) -> None:
        self.index.add(pieces_of(self.store.twigs, new.start, new.stop, self.store.height))

    def _match(self, batch: EncodedBatch) -> Matches:
        parts = [np.zeros((3, 0), np.int32)]
        count = 0
        for candidates in self.candidates(batch):
            witnesses = self._verifier.verify(batch, candidates[:, 0], candidates[:, 1])
            held = np.flatnonzero(witnesses >= 0)
            parts.append(np.stack([*candidates[held].T, witnesses[held]]))
            count += len(candidates)
        documents, patterns, proofs = np.concatenate(parts, axis=1)
        # Of a profile's patterns the first one gives the witness: their order must not be that of the tree.
        order = np.argsort(documents.astype(np.int64) << 32 | patterns)
        funnel = self._funnel(
            batch,
            branches=len(self.index.tree),
            candidates=count,
            verified=count,
            matches=documents.size,
            nodes_stored=self.index.packed.level.size,
            nodes_read=self.nodes_read,
            node_pairs=self.compared.node_pairs,
            leaf_pairs=self.compared.leaf_pairs,
        )
        return Matches(documents[order], patterns[order], proofs[order], funnel)

    def _place(self, batch: EncodedBatch) -> tuple[Place, DocumentSequences]:
        signed = self._symbols.signed()
        asked = self.index.follow(self.live, lambda: document_sequences(batch, signed), self.selectivity)
        data = self.document_sequences(batch)
        tree = self.index.packed
        given = empty_occurrences(data.sequences, len(self.index.labels), self._noted)
        return Place(tree, asked, given, new_scratch(tree), new_memory(len(self.index.sequences))), data

    @abstractmethod
    def _find(self, place: Place, data: DocumentSequences) -> Iterator[Ints]: ...


class BoxFilter(_SequenceEngine):
    """Algorithm 3: sequential mode."""

    _noted = 1

    def _find(self, place: Place, data: DocumentSequences) -> Iterator[Ints]:
        for begin in range(0, data.documents.size, _AT_ONCE):
            end = min(begin + _AT_ONCE, data.documents.size)
            yield sequential_candidates(place, data.sequences, data.documents, begin, end)


class BatchBoxFilter(_SequenceEngine):
    """Algorithm 4: batch mode, with LSearch and RSearch where one of the trees has come to its leaves."""

    _noted = GROUP

    def _find(self, place: Place, data: DocumentSequences) -> Iterator[Ints]:
        documents = build_data_tree(data.sequences, place.given.columns)
        offsets, tops = starting_points(place.tree, documents, place.scratch)
        for node in documents.lowest:
            first = documents.first[node]
            members = documents.order[first : first + documents.counts[node]]
            below = tops[offsets[node] : offsets[node + 1]]
            if members.size and below.size:
                yield grouped_candidates(place, data.sequences, data.documents, members, below)
