"""Locations of nodes, for witnesses: `/nitf/body[1]/p[3]`, computed only for nodes that are shown to someone.

Each step below the root carries its position among the siblings of the same name. A name in a namespace is written
`Q{uri}local`, the one form of XPath (3.1, "EQName") that needs no prefixes and so can be read without the document:
`/Q{urn:x}a/Q{urn:x}b[2]/@id`. In XPath 1.0 a step `Q{uri}local[2]` is `*[local-name()='local' and
namespace-uri()='uri'][2]`; in lxml's `find` it is `{uri}local[2]`.
"""

from collections.abc import Iterable

import numpy as np

from winnow.encoding.batch import EncodedBatch, Ints, Longs
from winnow.encoding.jit import kernel
from winnow.encoding.paths import PathTable
from winnow.encoding.vocabulary import Vocabulary


def locate(batch: EncodedBatch, nodes: Iterable[int], *, paths: PathTable, vocabulary: Vocabulary) -> list[str]:
    """The locations of nodes, in their order."""
    wanted = np.fromiter(nodes, np.int64)
    documents = np.unique(np.searchsorted(batch.doc_offsets, wanted, side="right") - 1)
    positions = _positions(batch, documents, len(paths))
    symbols = paths.symbols
    known: dict[int, str] = {-1: ""}
    for target in wanted.tolist():
        line: list[int] = []
        node = target
        while node not in known:
            line.append(node)
            node = int(batch.parent[node])
        for node in reversed(line):
            parent = int(batch.parent[node])
            step = _step(vocabulary.label(int(symbols[batch.path[node]])))
            place = "" if parent < 0 or step.startswith("@") else f"[{positions[node]}]"
            known[node] = f"{known[parent]}/{step}{place}"
    return [known[node] for node in wanted.tolist()]


def _step(label: str) -> str:
    """
    >>> _step("a"), _step("@{urn:x}b")
    ('a', '@Q{urn:x}b')
    """
    return label.replace("{", "Q{", 1)


@kernel
def _positions(batch: EncodedBatch, documents: Longs, path_count: int) -> Ints:
    """The position of every node of these documents among its siblings with the same name.

    Siblings with the same name have the same path, and between two of them in pre-order no node has this path and
    another parent (a path fixes the depth). So one counter per path, started anew with each parent, is enough.
    """
    positions = np.empty(batch.path.size, np.int32)
    parents = np.full(path_count, -2, np.int32)
    counts = np.zeros(path_count, np.int32)
    for document in documents:
        for node in range(batch.doc_offsets[document], batch.doc_offsets[document + 1]):
            path = batch.path[node]
            if parents[path] != batch.parent[node]:
                parents[path] = batch.parent[node]
                counts[path] = 0
            counts[path] += 1
            positions[node] = counts[path]
    return positions
