"""The tree of the distinct paths of a batch: what WFilter's internal events are made of."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Bytes, Ints
from winnow.encoding import EncodedBatch
from winnow.engines.predicates.access import Rows

NODE, TEXT = 1, 2  # flags of a path: the batch has such a node; one of them has text


class PathTree(NamedTuple):
    """The paths of a batch: signed symbols, flags, and the children of each."""

    symbols: Ints
    flags: Bytes
    children: Rows


@kernel
def tree_of(batch: EncodedBatch, symbols: Ints, parents: Ints, with_text: bool) -> PathTree:
    flags = np.zeros(symbols.size, np.uint8)
    for node in range(batch.path.size):
        flags[batch.path[node]] = NODE
    if with_text:
        for text in range(batch.text_parent.size):
            flags[batch.path[batch.text_parent[text]]] = NODE | TEXT
    offsets = np.zeros(symbols.size + 2, np.int64)
    for path in range(1, symbols.size):
        if flags[path]:
            offsets[parents[path] + 2] += 1
    offsets = np.cumsum(offsets)
    items = np.empty(offsets[-1], np.int32)
    for path in range(1, symbols.size):
        if flags[path]:
            items[offsets[parents[path] + 1]] = path
            offsets[parents[path] + 1] += 1
    return PathTree(symbols, flags, Rows(offsets, items))


@inlined
def is_leaf(tree: PathTree, path: int) -> bool:
    offsets = tree.children.offsets
    return bool(tree.flags[path] & TEXT == 0 and offsets[path] == offsets[path + 1])
