"""WFilter's clusters (Martins and Pereira, §3.3 and §4.3): expressions of one size under one access predicate.

An expression is looked at only when its access predicate is met. Any of its predicates would do; the one that is met
most rarely is the best.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Floats, Ints, Longs
from winnow.encoding.simd import raw
from winnow.engines.wfilter.expressions import OP_BITS


class Clusters(NamedTuple):
    """Predicate p gives access to the clusters `families[p]:families[p + 1]`.

    Item i of the expression j of a cluster is `cells[begin + i * rows + j]`, so that neighbours are read together.
    """

    families: Longs
    size: Ints  # per cluster: items of its expressions
    rows: Ints  # per cluster: its expressions
    begin: Longs  # into `cells`
    first: Longs  # into `expression`
    cells: Ints
    expression: Ints

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self)


class Pool(NamedTuple):
    """Expression k is `items[offsets[k]:offsets[k + 1]]`."""

    items: Ints
    offsets: Longs


@inlined
def raw_clusters(clusters: Clusters) -> Clusters:
    return Clusters(
        raw(clusters.families),
        raw(clusters.size),
        raw(clusters.rows),
        raw(clusters.begin),
        raw(clusters.first),
        raw(clusters.cells),
        raw(clusters.expression),
    )


def cluster(pool: Pool, wanted: Longs, weights: Floats) -> Clusters:
    """The wanted expressions. `weights` says of each predicate how often it is met."""
    access = rarest(pool, wanted, weights)
    size = (pool.offsets[wanted + 1] - pool.offsets[wanted]).astype(np.int32)
    order = np.lexsort((size, access))
    access, size, expression = access[order], size[order], wanted[order].astype(np.int32)
    is_first = np.ones(wanted.size, np.bool_)
    is_first[1:] = (np.diff(access) != 0) | (np.diff(size) != 0)
    first = np.flatnonzero(is_first)
    rows = np.diff(first, append=wanted.size).astype(np.int32)
    size, access = size[first], access[first]
    begin = np.concatenate([[0], np.cumsum(size * rows.astype(np.int64))])
    families = np.searchsorted(access, np.arange(weights.size + 1)).astype(np.int64)
    cells = np.empty(begin[-1], np.int32)
    clusters = Clusters(families, size, rows, begin[:-1], first, cells, expression)
    _fill(pool, clusters)
    return clusters


@kernel
def rarest(pool: Pool, wanted: Longs, weights: Floats) -> Ints:
    """The access predicate of each expression; of equals the lowest in the document, where documents differ most."""
    chosen = np.empty(wanted.size, np.int32)
    for k in range(wanted.size):
        best = np.inf
        for i in range(pool.offsets[wanted[k]], pool.offsets[wanted[k] + 1]):
            predicate = pool.items[i] >> OP_BITS
            if weights[predicate] <= best:
                best = weights[predicate]
                chosen[k] = predicate
    return chosen


@kernel
def _fill(pool: Pool, clusters: Clusters) -> None:
    for k in range(clusters.size.size):
        rows = clusters.rows[k]
        for j in range(rows):
            start = pool.offsets[clusters.expression[clusters.first[k] + j]]
            for i in range(clusters.size[k]):
                clusters.cells[clusters.begin[k] + i * rows + j] = pool.items[start + i]
