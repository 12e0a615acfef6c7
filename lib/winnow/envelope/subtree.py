"""One subtree as a tree of its own, without the rest: the unit that is stored, sent to a partition and loaded alone."""

import numpy as np
from numpy.typing import NDArray

from winnow.envelope.boxes import empty_boxes, gather
from winnow.envelope.storage import Rows, Storage
from winnow.envelope.tree import Arrays, EnvelopeTree
from winnow.errors import UsageError


def members(tree: EnvelopeTree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The members of `nodes`, in order: child nodes, or rows if the nodes are of level 1."""
    slots = tree.arrays.slots[nodes]
    valid = np.arange(slots.shape[1]) < tree.arrays.counts[nodes][:, None]
    return slots[valid]


def nodes_at(tree: EnvelopeTree, level: int) -> NDArray[np.int64]:
    """The nodes of one level: their subtrees partition the sequences of the tree."""
    if not 1 <= level <= tree.height:
        raise UsageError("envelope_level", f"level {level} is not within 1 and the height {tree.height}")
    return np.flatnonzero(tree.arrays.level == level)


def subtree(tree: EnvelopeTree, node: int) -> EnvelopeTree:
    """The tree below `node`: the same nodes, numbered from the root (0) level by level, and nothing else."""
    old = tree.arrays
    if not 0 <= node < len(old.level) or old.level[node] < 1:
        raise UsageError("envelope_node", f"the tree has no node {node}")
    layers = [np.array([node], np.int64)]
    while old.level[layers[-1][0]] > 1:
        layers.append(members(tree, layers[-1]))
    rows = members(tree, layers[-1])
    chosen = np.concatenate(layers)
    nodes = empty_boxes(len(chosen), int(old.nodes.heads["longest"][chosen].sum()))
    gather(old.nodes, chosen, nodes)
    counts = old.counts[chosen]
    slots = np.full((len(chosen), old.slots.shape[1]), -1, np.int64)
    valid = np.arange(slots.shape[1]) < counts[:, None]
    # Members appear in the order in which their nodes list them: nodes from 1 on, then rows from 0 on.
    slots[valid] = np.concatenate([np.arange(1, len(chosen)), np.arange(len(rows))])
    storage = Storage.gathered(Rows(old.rows, old.ids), rows)
    boxes, ids = storage.view()
    arrays = Arrays(boxes, nodes, old.level[chosen], counts, slots, ids)
    return EnvelopeTree(arrays, 0, len(ids), tree.parameters, storage)
