"""The tree of a batch's data sequences for the join with a packed tree (BoXFilter, section 4.4, batch mode).

An envelope around whole documents bounds little: documents of one kind differ at every position. So a node of this tree
has the union of the columns below it, exactly, as bits; a lowest node has up to 64 sequences, and for each column the
word that says which of them have it (`Occurrences.has`), which is union and intersection in one.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding.simd import lowest_bit, raw
from winnow.envelope.occurrences import GROUP, Sequences, has_any
from winnow.envelope.packed_search import Scratch
from winnow.envelope.packed_tree import MUST, PackedTree
from winnow.envelope.walk import NODE_PAIRS

FANOUT = 8  # of the nodes above the lowest
_LABEL_BITS = 21  # of a label in a key


class DataTree(NamedTuple):
    """Members of a node are contiguous: nodes, or places in `order` where the level is 1. Node 0 is the root."""

    level: Ints
    first: Ints
    counts: Ints
    union: Longs  # `words` numbers a node
    words: int
    order: Ints  # sequences; alike ones are together, and those of a lowest node ascend

    @property
    def lowest(self) -> Ints:
        """The nodes of level 1."""
        return np.flatnonzero(self.level == 1).astype(np.int32)


def build_data_tree(data: Sequences, columns: int) -> DataTree:
    """Neighbours have the same lowest labels: columns number labels in the order in which they come together."""
    words = columns // 64 + 1
    sets = _column_sets(data, columns)
    order = np.argsort(_keys(sets, words), kind="stable").astype(np.int32)
    for start in range(0, order.size, GROUP):
        order[start : start + GROUP].sort()
    sizes = [order.size, max(1, -(-order.size // GROUP))]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // FANOUT))
    level, first, counts = [], [], []
    base = 0
    for depth in range(len(sizes) - 1, 0, -1):  # from the root down
        fanout = GROUP if depth == 1 else FANOUT
        starts = np.arange(sizes[depth]) * fanout
        base += sizes[depth]
        level.append(np.full(starts.size, depth))
        first.append(starts + (base if depth > 1 else 0))
        counts.append(np.minimum(fanout, sizes[depth - 1] - starts))
    tree = DataTree(
        level=np.concatenate(level).astype(np.int32),
        first=np.concatenate(first).astype(np.int32),
        counts=np.concatenate(counts).astype(np.int32),
        union=np.zeros(base * words, np.int64),
        words=words,
        order=order,
    )
    _unite(tree, sets)
    return tree


@kernel
def _column_sets(data: Sequences, columns: int) -> Longs:
    words = columns // 64 + 1
    sets = np.zeros((data.offsets.size - 1) * words, np.int64)
    for d in range(data.offsets.size - 1):
        sets[d * words] = 3  # the wildcards
        for i in range(data.offsets[d], data.offsets[d + 1]):
            column = abs(np.int64(data.symbols[i]))
            if column < columns:
                sets[d * words + (column >> 6)] |= np.int64(1) << (column & 63)
    return sets


@kernel
def _keys(sets: Longs, words: int) -> Longs:
    """The three lowest labels of each set, the lowest one first."""
    beyond = (np.int64(1) << _LABEL_BITS) - 1
    keys = np.zeros(sets.size // words, np.int64)
    for d in range(keys.size):
        found = 0
        for w in range(words):
            bits = sets[d * words + w] & (~np.int64(3) if w == 0 else np.int64(-1))
            while bits != 0 and found < 3:
                label = min(np.int64(w * 64 + lowest_bit(bits)), beyond)
                keys[d] = (keys[d] << _LABEL_BITS) | label
                bits &= bits - 1
                found += 1
        for _ in range(found, 3):
            keys[d] = (keys[d] << _LABEL_BITS) | beyond
    return keys


@kernel
def _unite(tree: DataTree, sets: Longs) -> None:
    words = tree.words
    for node in range(tree.level.size - 1, -1, -1):
        for k in range(tree.first[node], tree.first[node] + tree.counts[node]):
            for w in range(words):
                if tree.level[node] > 1:
                    tree.union[node * words + w] |= tree.union[k * words + w]
                else:
                    tree.union[node * words + w] |= sets[tree.order[k] * words + w]


@kernel
def starting_points(tree: PackedTree, data: DataTree, scratch: Scratch) -> tuple[Longs, Ints]:
    """Algorithm 4 down to the lowest nodes of `data`: below which nodes of `tree` each of them is to be searched.

    Both trees are walked down together. Node k of `data` has the nodes `tops[offsets[k]:offsets[k + 1]]`. Where `tree`
    has come to its lowest nodes first, they go on alone (LSearch).
    """
    offsets = np.zeros(data.level.size + 1, np.int64)
    tops = np.empty(64, np.int32)
    parent = np.full(data.level.size, -1, np.int64)
    used, node_pairs = 0, 0
    level, first, counts = raw(tree.level), raw(tree.first), raw(tree.counts)
    low, high, must = raw(tree.low), raw(tree.high), raw(tree.must)
    for k in range(data.level.size):
        if data.level[k] > 1:
            for member in range(data.first[k], data.first[k] + data.counts[k]):
                parent[member] = k
        union = raw(data.union[k * data.words : (k + 1) * data.words])
        begin, stop = 0, 1
        if parent[k] >= 0:
            begin, stop = int(offsets[parent[k]]), int(offsets[parent[k] + 1])
        for at in range(begin, stop):
            above = 0 if parent[k] < 0 else int(tops[at])
            member, last = above, above + 1
            if parent[k] >= 0 and level[above] > 1:
                scratch.read[above] = 1
                member, last = int(first[above]), int(first[above] + counts[above])
            node_pairs += last - member
            while member < last:
                is_open = counts[member] > 0 and has_any(union, low[member], high[member])
                for i in range(MUST * member, MUST * member + MUST):
                    is_open = is_open and (must[i] < 0 or (union[must[i] >> 6] >> (must[i] & 63)) & 1 != 0)
                if is_open:
                    if used == tops.size:
                        longer = np.empty(2 * used, np.int32)
                        longer[:used] = tops
                        tops = longer
                    tops[used] = member
                    used += 1
                member += 1
        offsets[k + 1] = used
    scratch.tally[NODE_PAIRS] += node_pairs
    return offsets, tops[:used]
