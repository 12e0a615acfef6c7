"""A SUBSEQUENCE tree as searches read it: flat, breadth first, with exact bounds on labels beside the envelopes.

Rows begin with an **access** position: `ACCESS + column` of the label that the fewest data sequences have (column 0 for
a row without a label). Data sequences have, in front of their own positions, the access positions of all their columns.
So a row's access position asks for its rarest label, rows that ask for one label are neighbours in the tree, and the
interval of a node's access positions is the exact bound `any`: without a column in it, nothing below can lie in a data
sequence. `must` has the rarest columns that all rows below a node share. Neither is hashed; the envelopes (BoXFilter,
Lemma 2) are the second test.

Below a lowest node, rows are sorted and front-coded: `shared` is how many positions a row has in common with the one
before, `skip` the next row that shares less. A comparison goes on where the row before left off, and a row that fails
takes all rows with it that share what failed.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Floats, Ints, Longs
from winnow.envelope.pack import compare
from winnow.envelope.sequences import ACCESS, SequenceSet
from winnow.envelope.subtree import subtree
from winnow.envelope.tree import Arrays, EnvelopeTree

ANY_COLUMN, ANY_NEGATIVE_COLUMN, FIRST_COLUMN = 0, 1, 2  # the two wildcards, then labels
MUST = 4  # labels of a node that are tested
_KEPT = 16  # that are kept while the tree is packed


class PackedTree(NamedTuple):
    """Members of a node are contiguous: nodes, or rows where the level is 1. Node 0 is the root.

    So is everything below a node, level by level. Where the arrays lie in a mapped file, a search reads the pages of
    the subtrees that it enters, and the operating system may take them back at any time (BoXFilter, section 4.3).
    """

    level: Ints
    first: Ints
    counts: Ints
    low: Ints  # `any`: the interval of the columns of access positions
    high: Ints
    must: Ints  # `MUST` columns a node, -1 where there are fewer
    bounds: Longs  # per node, where its envelope begins in the next two, without the access position
    bound_low: Ints
    bound_high: Ints
    starts: Longs  # per row, where its columns begin in the next one; the first is that of the access position
    columns: Ints
    shared: Ints
    skip: Ints
    ids: Ints
    longest: int  # columns of a row

    @property
    def height(self) -> int:
        return int(self.level[0])


def pack_rows(tree: EnvelopeTree, weights: Floats) -> PackedTree:
    """The tree as it is now; `weights` says of each column how often data sequences have it."""
    compact = subtree(tree, tree.root)
    order = _sorted_within_nodes(compact.arrays)
    return PackedTree(*_packed(compact.arrays, order, weights))


@kernel
def _sorted_within_nodes(tree: Arrays) -> Longs:
    """The rows in the order of the tree, those of each node sorted."""
    order = np.empty(tree.ids.size, np.int64)
    used = 0
    for node in range(tree.level.size):
        if tree.level[node] != 1:
            continue
        begin = used
        for k in range(tree.counts[node]):
            row = tree.slots[node, k]
            at = used
            while at > begin and compare(tree.rows, order[at - 1], row)[0] > 0:
                order[at] = order[at - 1]
                at -= 1
            order[at] = row
            used += 1
    return order[:used]


@kernel
def column_of(low: int, high: int) -> int:
    """The column that a position asks for."""
    if low != high:
        return ANY_COLUMN if low >= 0 else ANY_NEGATIVE_COLUMN
    return low - ACCESS if low >= ACCESS else abs(low)


def columns_of(sequences: SequenceSet) -> Ints:
    """What each position of these sequences asks for."""
    return _columns_of(sequences.low, sequences.high)


@kernel
def _columns_of(low: Ints, high: Ints) -> Ints:
    columns = np.empty(low.size, np.int32)
    for i in range(low.size):
        columns[i] = column_of(low[i], high[i])
    return columns


@kernel
def _rarest(columns: Ints, count: int, weights: Floats) -> None:
    """Sort by weight, then by number, so that the rarest come first."""
    for k in range(1, count):
        column = columns[k]
        at = k
        while at > 0 and (weights[columns[at - 1]], columns[at - 1]) > (weights[column], column):
            columns[at] = columns[at - 1]
            at -= 1
        columns[at] = column


@kernel
def _common(kept: Ints, count: int, other: Ints, size: int) -> int:
    """Keep what `other` has, too; the new count."""
    left = 0
    for k in range(count):
        is_there = False
        for i in range(size):
            is_there = is_there or other[i] == kept[k]
        if is_there:
            kept[left] = kept[k]
            left += 1
    return left


@kernel
def _packed(
    tree: Arrays, order: Longs, weights: Floats
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Longs, Ints, Ints, Longs, Ints, Ints, Ints, Ints, int]:
    nodes, rows = tree.level.size, order.size
    level, first, counts = np.empty(nodes, np.int32), np.empty(nodes, np.int32), np.empty(nodes, np.int32)
    low, high = np.zeros(nodes, np.int32), np.full(nodes, -1, np.int32)
    must = np.full((nodes, MUST), -1, np.int32)
    kept, kept_counts = np.empty((nodes, _KEPT), np.int32), np.zeros(nodes, np.int64)
    bounds = np.zeros(nodes + 1, np.int64)
    for node in range(nodes):
        bounds[node + 1] = bounds[node] + max(tree.nodes.heads[node].shortest - 1, 0)
    bound_low, bound_high = np.empty(bounds[nodes], np.int32), np.empty(bounds[nodes], np.int32)
    starts = np.zeros(rows + 1, np.int64)
    longest = 1
    for r in range(rows):
        size = tree.rows.heads[order[r]].longest
        starts[r + 1] = starts[r] + size
        longest = max(longest, size)
    columns = np.empty(starts[rows], np.int32)
    shared, skip, ids = np.zeros(rows, np.int32), np.empty(rows, np.int32), np.empty(rows, np.int32)
    distinct = np.empty(longest, np.int32)
    for r in range(rows):
        ids[r] = tree.ids[order[r]]
        begin = tree.rows.heads[order[r]].start
        for i in range(starts[r + 1] - starts[r]):
            position = tree.rows.positions[begin + i]
            columns[starts[r] + i] = column_of(position.low, position.high)
    next_node, next_row = 1, 0
    for node in range(nodes):
        level[node], counts[node] = tree.level[node], tree.counts[node]
        begin = tree.nodes.heads[node].start
        for i in range(1, tree.nodes.heads[node].shortest):
            bound_low[bounds[node] + i - 1] = tree.nodes.positions[begin + i].low
            bound_high[bounds[node] + i - 1] = tree.nodes.positions[begin + i].high
        if counts[node]:
            low[node] = tree.nodes.positions[begin].low - ACCESS
            high[node] = tree.nodes.positions[begin].high - ACCESS
        if level[node] > 1:
            first[node] = next_node
            next_node += counts[node]
            continue
        first[node] = next_row
        for k in range(counts[node]):
            r = next_row + k
            shared[r] = 0 if k == 0 else compare(tree.rows, order[r - 1], order[r])[1]
            size = 0
            for i in range(starts[r], starts[r + 1]):
                is_new = columns[i] >= FIRST_COLUMN
                for j in range(size):
                    is_new = is_new and distinct[j] != columns[i]
                if is_new:
                    distinct[size] = columns[i]
                    size += 1
            if k == 0:
                _rarest(distinct, size, weights)
                kept_counts[node] = min(size, _KEPT)
                kept[node, : kept_counts[node]] = distinct[: kept_counts[node]]
            else:
                kept_counts[node] = _common(kept[node], kept_counts[node], distinct, size)
        for k in range(counts[node] - 1, -1, -1):
            r = next_row + k
            skip[r] = r + 1
            while skip[r] < next_row + counts[node] and shared[skip[r]] >= shared[r]:
                skip[r] = skip[skip[r]]
        next_row += counts[node]
    for node in range(nodes - 1, -1, -1):
        if level[node] > 1:
            child = first[node]
            kept_counts[node] = kept_counts[child]
            kept[node] = kept[child]
            for k in range(1, counts[node]):
                other = first[node] + k
                kept_counts[node] = _common(kept[node], kept_counts[node], kept[other], kept_counts[other])
    for node in range(nodes):
        size = 0
        for k in range(kept_counts[node]):
            # The interval tests a single access column already.
            if size < MUST and not low[node] == high[node] == kept[node, k]:
                must[node, size] = kept[node, k]
                size += 1
    return (
        level,
        first,
        counts,
        low,
        high,
        must.ravel(),
        bounds,
        bound_low,
        bound_high,
        starts,
        columns,
        shared,
        skip,
        ids,
        longest,
    )
