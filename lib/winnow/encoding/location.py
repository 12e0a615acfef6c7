"""Locations of nodes, for witnesses: `/nitf/body[1]/p[3]`, computed only for nodes that are shown to someone.

Each step below the root carries its position among the siblings of the same name. A name in a namespace is written
`Q{uri}local`, the one form of XPath (3.1, "EQName") that needs no prefixes and so can be read without the document:
`/Q{urn:x}a/Q{urn:x}b[2]/@id`. In XPath 1.0 a step `Q{uri}local[2]` is `*[local-name()='local' and
namespace-uri()='uri'][2]`; in lxml's `find` it is `{uri}local[2]`.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.encoding.batch import Bytes, EncodedBatch, Ints, Longs
from winnow.encoding.paths import PathTable
from winnow.encoding.vocabulary import Vocabulary


class Steps(NamedTuple):
    """The step of path p, as it is written, is `text[ends[s]:ends[s + 1]]` where s is its symbol."""

    symbols: Ints
    text: Bytes
    ends: Longs


def locate(batch: EncodedBatch, nodes: Iterable[int], *, paths: PathTable, vocabulary: Vocabulary) -> list[str]:
    """The locations of nodes, in their order."""
    text, offsets = locations(batch, np.fromiter(nodes, np.int64), paths=paths, vocabulary=vocabulary)
    return [text[start:end].tobytes().decode() for start, end in pairwise(offsets.tolist())]


def locations(batch: EncodedBatch, nodes: Longs, *, paths: PathTable, vocabulary: Vocabulary) -> tuple[Bytes, Longs]:
    """The locations of nodes as UTF-8 and offsets, the layout of an Arrow string column."""
    documents = np.unique(np.searchsorted(batch.doc_offsets, nodes, side="right") - 1)
    positions = _positions(batch, documents, len(paths))
    is_path, is_used = np.zeros(len(paths), np.bool_), np.zeros(int(paths.symbols.max(initial=0)) + 1, np.bool_)
    is_path[batch.path] = True
    is_used[paths.symbols[is_path]] = True
    steps = [b""] * is_used.size
    for symbol in np.flatnonzero(is_used).tolist():
        steps[symbol] = b"/" + _step(vocabulary.label(symbol)).encode()
    ends = np.concatenate([[0], np.cumsum([len(step) for step in steps])]).astype(np.int64)
    written = Steps(paths.symbols, np.frombuffer(b"".join(steps), np.uint8), ends)
    return _write(batch, nodes.astype(np.int64), positions, written)


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


@kernel
def _write(batch: EncodedBatch, nodes: Longs, positions: Ints, written: Steps) -> tuple[Bytes, Longs]:
    """A location is written from its end to its beginning."""
    symbols, steps, ends = written
    deepest = 0
    longest = 0
    for node in nodes:
        deepest = max(deepest, int(batch.level[node]))
    for symbol in range(ends.size - 1):
        longest = max(longest, ends[symbol + 1] - ends[symbol])
    line = np.empty(deepest * (longest + 12), np.uint8)
    text = np.empty(32 * nodes.size + line.size, np.uint8)
    offsets = np.zeros(nodes.size + 1, np.int64)
    at = 0
    for k in range(nodes.size):
        node = np.int64(nodes[k])
        begin = line.size
        while node >= 0:
            symbol = symbols[batch.path[node]]
            first = ends[symbol]
            if batch.parent[node] >= 0 and steps[first + 1] != 64:  # neither the root nor an attribute
                number = positions[node]
                begin -= 1
                line[begin] = 93
                while number > 0:
                    begin -= 1
                    line[begin] = 48 + number % 10
                    number //= 10
                begin -= 1
                line[begin] = 91
            size = ends[symbol + 1] - first
            begin -= size
            line[begin : begin + size] = steps[first : first + size]
            node = np.int64(batch.parent[node])
        size = line.size - begin
        if at + size > text.size:
            grown = np.empty(2 * text.size + size, np.uint8)
            grown[:at] = text[:at]
            text = grown
        text[at : at + size] = line[begin:]
        at += size
        offsets[k + 1] = at
    return text[:at].copy(), offsets
