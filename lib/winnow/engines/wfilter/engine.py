"""WFilter (Martins and Pereira): expressions as conjunctions of predicates, clusters, and vectors of positions.

After Le Subscribe: a predicate is evaluated once for each path of a document, whatever the number of expressions that
share it, and an expression is looked at only when its access predicate is met. That the predicates are met in the right
order is then a matter of a few operations on words of 64 bits.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from winnow.arrays.column import Column
from winnow.arrays.stamped import Stamped
from winnow.arrays.types import Floats, Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.engines.automata.conditions import Asked
from winnow.engines.automata.filtering import FilteringEngine
from winnow.engines.automata.reading import Read, extent_of
from winnow.engines.wfilter.clusters import Clusters, Pool, cluster
from winnow.engines.wfilter.expressions import expressions_of
from winnow.engines.wfilter.paths import ends_on_paths, met_on_paths
from winnow.engines.wfilter.predicates import PredicateTable
from winnow.engines.wfilter.selectivity import Selectivity
from winnow.engines.wfilter.tree import tree_of
from winnow.engines.wfilter.values import Board, met_on_nodes
from winnow.engines.wfilter.vectors import EVENTS, OPERATIONS, TESTED, new_vectors
from winnow.patterns.lines import LEAF, Lines
from winnow.patterns.runs import RunTable


class WFilter(FilteringEngine):
    """In `stats`, `comparisons` are expressions that were looked at, and `moves` are operations on words."""

    strategies = ()  # values are predicates like all others

    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        super().__init__(vocabulary, paths)
        self._predicates, self._expressions = PredicateTable(), RunTable()
        self._is_tested = Column(np.bool_)  # per expression: it asks for values
        self._last = Column(np.int32)  # per expression: the key of its last label
        self._selectivity = Selectivity()
        self._clusters: tuple[Clusters, Clusters] | None = None  # of expressions without tests, and with
        self._met = Stamped()
        self._events = 0

    def prefer(self, counts: Mapping[int, int]) -> None:
        """How often labels are to be expected, by symbol: as if so many paths had been seen with them."""
        self._selectivity.prefer(counts, len(self.store.vocabulary))
        self._clusters = None

    def _changed(self) -> None:
        super()._changed()
        self._clusters = None

    def _ask(self, new: range, lines: Lines) -> tuple[Asked, npt.NDArray[np.bool_]]:
        found = expressions_of(self.store.twigs, new.start, new.stop, self.store.height)
        self._has_text = self._has_text or found.has_text
        codes = self._predicates.codes(found, len(self.store.vocabulary))
        return Asked(codes, found.ends, found.test, found.owner), found.pure.astype(np.bool_)

    def _often(self, asked: Asked) -> Floats:
        """The clusters know better, but they are of expressions, not of patterns."""
        return np.where(asked.test == LEAF, 1.0, 0.0)

    def _learn(self, asked: Asked) -> Ints:
        known = len(self._expressions)
        ids = self._expressions.add(asked.steps, asked.ends)
        self._last.extend(self._predicates.keys(self._pool.items[self._pool.offsets[known + 1 :] - 1]))
        self._is_tested.resize(len(self._expressions), 0)
        self._is_tested.view[ids] = asked.test != LEAF
        return ids

    def _read(self, batch: EncodedBatch, symbols: Ints) -> Read:
        plain, tested = self._clustered()
        labels = len(self.store.vocabulary)
        index = self._predicates.index(labels, self._last.view)
        vectors = new_vectors(len(self._predicates), extent_of(batch, False).levels + 1)
        tree = tree_of(batch, symbols, self.paths.parents, self._has_text)
        ends = ends_on_paths(tree, index, plain, vectors, self._selectivity.seen(labels))
        stamps = self._met.room(len(self._expressions), batch.documents)
        met = met_on_paths(batch, ends, self._has_text, stamps, self._met.last)
        if tested.expression.size:
            board = Board(
                labels=index,
                clusters=tested,
                vectors=vectors,
                families=self._predicates.values.families(self.store.twigs.tests),
                places=self._predicates.places(symbols, self.paths.parents),
                stamps=stamps,
                last_stamp=self._met.last,
                has_text=self._has_text,
            )
            met = np.concatenate([met, met_on_nodes(batch, symbols, board)])
            met = met[np.argsort(met[:, 0], kind="stable")]
        self._met.last += batch.documents
        self._events = int(vectors.counts[EVENTS])
        return Read(met, int(vectors.counts[TESTED]), int(vectors.counts[OPERATIONS]))

    def _clustered(self) -> tuple[Clusters, Clusters]:
        """Of what live patterns ask for. Access predicates are chosen anew when much more is known about documents."""
        if self._clusters is None or self._selectivity.is_stale:
            assert self._awaited is not None
            required = self._awaited.required
            wanted = np.unique(required.items[np.repeat(self.live, np.diff(required.offsets))]).astype(np.int64)
            ops, labels = self.store.twigs.tests.op, len(self.store.vocabulary)
            weights = self._selectivity.weights(self._predicates.rows, ops, labels)
            is_tested = self._is_tested.view[wanted]
            plain, tested = (cluster(self._pool, wanted[part], weights) for part in (~is_tested, is_tested))
            self._clusters = plain, tested
        return self._clusters

    @property
    def _pool(self) -> Pool:
        return Pool(self._expressions.pool, self._expressions.offsets)

    def _size(self) -> dict[str, int]:
        clusters = self._clusters or ()
        return {
            "predicates": len(self._predicates),
            "clusters": sum(part.size.size for part in clusters),
            "events": self._events,
            "bytes": self._predicates.nbytes
            + sum(int(array.nbytes) for array in (*self._pool, self._last.view, self._is_tested.view))
            + sum(part.nbytes for part in clusters),
        }
