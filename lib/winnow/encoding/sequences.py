"""Bottom-up (Pruefer) sequences of symbols: of a path, of a branch, of whole documents.

BoXFilter §2: give every leaf an artificial child, then delete nodes in post-order until only the root is left, writing
down the parent's label each time. A line of nodes becomes its labels from the leaf to the root. A document of n nodes,
m of them leaves, becomes a sequence of length n - 1 + m. Attributes are leaves; text nodes do not take part.
"""

from collections.abc import Sequence

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.encoding.batch import EncodedBatch, Ints, Longs
from winnow.encoding.paths import DOCUMENT_PATH, PathTable
from winnow.encoding.vocabulary import TEXT_SYMBOL, Vocabulary
from winnow.xpath.pattern import Kind, Node

ANY_ELEMENT = -1
ANY_ATTRIBUTE = -2


def path_sequence(path: int, paths: PathTable) -> Ints:
    """The symbols of a path from its leaf to its root."""
    symbols: list[int] = []
    while path != DOCUMENT_PATH:
        path, symbol = paths.step(path)
        symbols.append(symbol)
    return np.array(symbols, np.int32)


def branch_sequence(branch: Sequence[Node], vocabulary: Vocabulary) -> Ints:
    """The symbols of a branch, given from root to leaf, from its leaf to its root; labels new to us get a symbol.

    >>> from winnow.xpath.pattern import Axis
    >>> steps = [Node(Axis.CHILD, Kind.ELEMENT, "a"), Node(Axis.DESCENDANT, Kind.ELEMENT, None),
    ...          Node(Axis.CHILD, Kind.ATTRIBUTE, "id")]
    >>> words = Vocabulary()
    >>> branch_sequence(steps, words).tolist(), words.labels()
    ([1, -1, 2], ('text()', '@id', 'a'))
    """
    return np.array([_symbol(step, vocabulary) for step in reversed(branch)], np.int32)


def _symbol(step: Node, vocabulary: Vocabulary) -> int:
    if step.kind == Kind.TEXT:
        return TEXT_SYMBOL
    if step.label is None:
        return ANY_ATTRIBUTE if step.kind == Kind.ATTRIBUTE else ANY_ELEMENT
    return vocabulary.add(f"@{step.label}" if step.kind == Kind.ATTRIBUTE else step.label)


@kernel
def document_sequences(batch: EncodedBatch, symbols: Ints) -> tuple[Ints, Longs]:
    """The sequences of all documents, one after the other, and their offsets (one more than documents).

    `symbols` has the symbol of each path's last step, as `PathTable.symbols` has it or in another numbering.
    """
    nodes = batch.path.size
    sequence = np.empty(2 * nodes, np.int32)
    offsets = np.zeros(batch.doc_offsets.size, np.int64)
    length = 0
    for document in range(batch.doc_offsets.size - 1):
        for node in range(batch.doc_offsets[document], batch.doc_offsets[document + 1]):
            if batch.end[node] != node + 1:
                continue
            sequence[length] = symbols[batch.path[node]]  # the artificial child goes
            length += 1
            # A leaf is where subtrees end: it goes, and then every ancestor whose last descendant it is.
            gone = node
            while batch.parent[gone] >= 0 and batch.end[gone] == node + 1:
                gone = batch.parent[gone]
                sequence[length] = symbols[batch.path[gone]]
                length += 1
        offsets[document + 1] = length
    return sequence[:length].copy(), offsets
