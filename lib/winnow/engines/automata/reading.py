"""What the engines share that read documents node by node: room for the largest document, texts, rows that grow."""

from typing import Any, NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch


class Extent(NamedTuple):
    levels: int  # of the deepest document
    nodes: int  # of the largest
    texts: int  # of the one with the most; 0 when they are not read


class Read(NamedTuple):
    """What one batch met, and what it cost."""

    met: Ints  # rows (document, condition, node), each pair once, ascending by document
    comparisons: int  # how often a state or path node was asked about a document node
    moves: int  # how often one was entered


@kernel
def extent_of(batch: EncodedBatch, with_text: bool) -> Extent:
    levels, nodes, texts = 0, 0, 0
    for node in range(batch.level.size):
        levels = max(levels, batch.level[node])
    for document in range(batch.doc_offsets.size - 1):
        nodes = max(nodes, batch.doc_offsets[document + 1] - batch.doc_offsets[document])
        if with_text:
            texts = max(texts, batch.text_offsets[document + 1] - batch.text_offsets[document])
    return Extent(levels, nodes, texts)


@kernel
def chain_texts(batch: EncodedBatch, document: int, heads: Ints, following: Ints) -> None:
    """Write to `heads`, by node within the document, its first text node, and to `following` the next, or -1."""
    first = batch.doc_offsets[document]
    heads[: batch.doc_offsets[document + 1] - first] = -1
    text_first = batch.text_offsets[document]
    for text in range(batch.text_offsets[document + 1] - 1, text_first - 1, -1):
        parent = batch.text_parent[text] - first
        following[text - text_first] = heads[parent]
        heads[parent] = text


@kernel
def longer(array: Any, used: int, size: int) -> Any:
    """At least `size` items, of which the first `used` stay."""
    if array.size >= size:
        return array
    grown = np.empty(2 * size, array.dtype)
    grown[:used] = array[:used]
    return grown


@kernel
def more_rows(rows: Ints, used: int) -> Ints:
    """Room for one row more."""
    if used < rows.shape[0]:
        return rows
    grown = np.empty((2 * used, rows.shape[1]), np.int32)
    grown[:used] = rows
    return grown
