"""The one interface of all engines: patterns in, pairs of document and pattern out.

An engine decides structure and values as far as its index goes; what it cannot decide exactly it hands as candidates
to `verify`, which every engine shares. So all engines give the same matches, and differ in cost only.

To write an engine: subclass `Engine`, give `_index` and `_match`, and name it in `winnow.engines.registry`, or
register it from another package by an entry point (see there).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Ints, Longs
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.errors import UsageError
from winnow.patterns.store import PatternStore
from winnow.values.selectivity import Selectivity
from winnow.xpath.pattern import Pattern

_CHUNK = 1 << 15  # patterns that exist as Python objects at one time


class Funnel(NamedTuple):
    """What one call met and what was left of it, step by step; sums over calls are meaningful."""

    documents: int = 0
    nodes: int = 0
    paths: int = 0  # distinct paths known after the call
    new_paths: int = 0
    branches: int = 0  # distinct lines in the index
    path_branches: int = 0  # pairs of path and line that were newly joined
    candidates: int = 0  # pairs of document and pattern that the index could not rule out
    verified: int = 0  # those of them that needed the verification kernel
    matches: int = 0
    nodes_stored: int = 0  # of the tree that was searched
    nodes_read: int = 0  # those of them whose members were looked at
    node_pairs: int = 0  # tests of the bounds of a node
    leaf_pairs: int = 0  # pairs of document and sequence that no bounds could rule out


class Matches(NamedTuple):
    """Pairs, ascending by document, each once. `witnesses` are node indexes of the batch.

    The witness is the first node, in document order, for the last pattern node that has nothing but a line above it:
    for a path its end, for `//a[b][c]` the `a`. In place of text it is an element around it; where the pattern forks at
    the document node, the root element.
    """

    documents: Ints
    patterns: Ints
    witnesses: Ints
    funnel: Funnel


class Engine(ABC):
    """Patterns come and go between calls of `match`; retiring and adding again is the same as building afresh."""

    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        self.store = PatternStore(vocabulary)
        self.paths = paths
        self.selectivity: Selectivity | None = None  # what patterns that are added from now on should wait for
        self._live = Column(np.bool_)
        self._known_paths = 0

    @property
    def live(self) -> "np.typing.NDArray[np.bool_]":
        """Per pattern of the store: it is wanted."""
        return self._live.view

    @property
    def needs_values(self) -> bool:
        """Some pattern asks for values or text nodes: batches must be encoded with them."""
        return self.store.has_values

    def add(self, patterns: Iterable[Pattern]) -> Ints:
        """Their ids, in order; equal patterns have equal ids."""
        parts = [np.zeros(0, np.int32)]
        rest = iter(patterns)
        while chunk := list(islice(rest, _CHUNK)):
            parts.append(self.add_stream(*self.store.flatten(chunk)))
        return np.concatenate(parts)

    def add_stream(self, stream: Ints, ends: Longs) -> Ints:
        """As `add`, of patterns that are flat already (see `PatternStore.flatten`)."""
        known = len(self.store)
        ids = self.store.add_stream(stream, ends)
        self._live.resize(len(self.store), 0)
        self._live.view[ids] = True
        self._index(range(known, len(self.store)))
        return ids

    def retire(self, ids: Ints) -> None:
        unknown = [int(i) for i in ids if not 0 <= i < len(self._live)]
        if unknown:
            raise UsageError("unknown_pattern", f"pattern {unknown[0]} was never added to this engine")
        self._live.view[ids] = False

    def match(self, batch: EncodedBatch) -> Matches:
        """The live patterns that hold in each document of a batch that was encoded with this engine's tables."""
        if self.needs_values and not batch.with_values:
            raise UsageError(
                "batch_without_values", "patterns test values, but the batch was encoded with structure only"
            )
        return self._match(batch)

    def _funnel(self, batch: EncodedBatch, **counts: int) -> Funnel:
        """Of one call: the batch, the paths that are known now, those that were not at the last call, and `counts`."""
        known, self._known_paths = self._known_paths, len(self.paths) - 1
        new_paths = self._known_paths - known
        return Funnel(batch.documents, batch.nodes, self._known_paths, new_paths)._replace(**counts)

    @abstractmethod
    def _index(self, new: range) -> None:
        """Take up the patterns of the store with these ids, which were never seen before."""

    @abstractmethod
    def _match(self, batch: EncodedBatch) -> Matches: ...
