"""XTrie's trie: which substrings end at an element? (Chan et al., ICDE 2002, §4.1).

Every node is a sequence of labels. α says which substring it is; β leads to the longest proper suffix that is a node,
too. The paper lets β lead to inner nodes only; then a substring that ends another one and that no longer one continues
would go unnoticed, so here it leads to any node. A third pointer skips those suffixes that are no substrings.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints, Longs
from winnow.engines.automata.states import rehash_slots, slot_of, target_of
from winnow.patterns.twigs import ANY_ELEMENT

# A node: its substring or -1, the longest suffix, the longest suffix that is a substring; 0 is the root.
ALPHA, BETA, SUFFIX, NODE = range(4)
EMPTY = 0  # the substring of the root


class Trie(NamedTuple):
    """For kernels."""

    nodes: Ints  # NODE numbers each
    slots: Longs  # edges, as transitions in `states`
    any_element: int  # the node of the substring `*`, or 0


class TrieTable:
    """The growing owner of `Trie`. Substrings have numbers in order of arrival."""

    def __init__(self) -> None:
        self._alpha, self._depth, self._parent, self._label = (Column(np.int32) for _ in range(4))
        self._slots: Longs = np.full(2048, -1, np.int64)
        self._sizes: Longs = np.array([1, 1], np.int64)  # nodes, substrings
        self._alpha.extend(np.array([EMPTY]))
        self._depth.resize(1, 0)
        self._parent.resize(1, -1)
        self._label.resize(1, 0)

    def __len__(self) -> int:
        return int(self._sizes[0])

    @property
    def substrings(self) -> int:
        return int(self._sizes[1])

    @property
    def nbytes(self) -> int:
        return int(self._slots.nbytes) + 4 * int(self._alpha.view.nbytes)

    def add(self, labels: Ints, ends: Longs) -> Ints:
        """The substring of each run `labels[ends[k]:ends[k + 1]]`."""
        room = len(self) + labels.size
        if 4 * room > self._slots.size:
            grown = np.full(2 << (2 * room).bit_length(), -1, np.int64)
            rehash_slots(self._slots, grown)
            self._slots = grown
        columns = (self._alpha, self._depth, self._parent, self._label)
        arrays = tuple(column.reserve(room) for column in columns)
        substrings = _insert(labels, ends, arrays, self._slots, self._sizes)
        for column in columns:
            column.take(len(self))
        return substrings

    def trie(self) -> Trie:
        """The pointers of all nodes, written anew."""
        order = np.argsort(self._depth.view, kind="stable")
        nodes, any_element = _point(order, self._alpha.view, self._parent.view, self._label.view, self._slots)
        return Trie(nodes, self._slots, any_element)


@kernel
def _insert(labels: Ints, ends: Longs, columns: tuple[Ints, ...], slots: Longs, sizes: Longs) -> Ints:
    alpha, depth, parent, label = columns
    last = slots.size // 2 - 1
    substrings = np.empty(ends.size - 1, np.int32)
    for k in range(ends.size - 1):
        node = 0
        for i in range(ends[k], ends[k + 1]):
            slot = slot_of(slots, last, node, labels[i])
            if slots[slot] < 0:
                new = sizes[0]
                sizes[0] += 1
                slots[slot] = (node << 32) | (labels[i] & 0xFFFFFFFF)
                slots[slot + 1] = new
                alpha[new], depth[new], parent[new], label[new] = -1, depth[node] + 1, node, labels[i]
            node = slots[slot + 1]
        if alpha[node] < 0:
            alpha[node] = sizes[1]
            sizes[1] += 1
        substrings[k] = alpha[node]
    return substrings


@inlined
def followed(nodes: Ints, slots: Longs, last: int, node: int, label: int) -> int:
    """The node of the longest suffix of `node` and then `label`; 0 if there is none (§4.2, Figure 4, steps 9 to 12)."""
    target = target_of(slots, last, node, label)
    while target < 0 and node != 0:
        node = nodes[NODE * node + BETA]
        target = target_of(slots, last, node, label)
    return max(target, 0)


@kernel
def _point(order: Longs, alpha: Ints, parent: Ints, label: Ints, slots: Longs) -> tuple[Ints, int]:
    """`order` has the nodes by depth."""
    last = slots.size // 2 - 1
    nodes = np.zeros(NODE * alpha.size, np.int32)
    for node in order:
        nodes[NODE * node + ALPHA] = alpha[node]
        above = parent[node]
        if above > 0:
            suffix = followed(nodes, slots, last, nodes[NODE * above + BETA], label[node])
            nodes[NODE * node + BETA] = suffix
            nodes[NODE * node + SUFFIX] = suffix if alpha[suffix] >= 0 else nodes[NODE * suffix + SUFFIX]
    return nodes, followed(nodes, slots, last, 0, ANY_ELEMENT)
