"""Encoded documents as rows that need no other row, and back: paths are named by content, nodes count within them."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Flags, Ints, Longs
from winnow.encoding import EncodedBatch, Encoder, PathTable, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.encoding.restore import StoredValues, restore, stored_values
from winnow.errors import DataError
from winnow.index.codes import LabelCodes, path_codes
from winnow.index.lines import find
from winnow.index.packed import binary, items, pack, unpack

_SHOWN = 500  # characters of a path for people; documents are hostile, and depth times length is a lot
_SEPARATOR = b"\0"  # no XML name or namespace has it
DOCUMENT_COLUMNS = ("paths", "labels", "path_steps", "label_names", "nodes", "spans", "values")


class DocumentRows:
    """Encodes documents to columns of `encoded_documents`; learns labels and paths as it goes."""

    def __init__(self) -> None:
        vocabulary, self._paths = Vocabulary(), PathTable()
        self._vocabulary = vocabulary
        self._encoder = Encoder(vocabulary, self._paths)
        self._symbols = PathSymbols(self._paths, vocabulary)
        self._labels = LabelCodes(vocabulary)

    @property
    def paths(self) -> int:
        """How many are known by now."""
        return len(self._paths)

    def encode(self, contents: list[bytes]) -> tuple[EncodedBatch, dict[str, pa.Array]]:
        """Returns the batch, and for each document its row."""
        batch = self._encoder.encode(contents, values=True)
        return batch, self._columns(batch)

    def _columns(self, batch: EncodedBatch) -> dict[str, pa.Array]:
        labels = self._labels.all()
        numbered = _number_paths(batch.path, batch.doc_offsets, self._paths.parents, self._paths.symbols)
        stored = stored_values(batch, self._symbols.signed() < 0)
        codes = path_codes(self._paths.parents, self._paths.symbols, labels)
        texts = [label.encode() for label in self._vocabulary.labels()]
        ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
        pool = np.frombuffer(b"".join(texts), np.uint8)
        names = binary(*_joined(numbered.symbols, numbered.symbol_ends, pool, ends))
        return {
            "paths": _lists(numbered.path_ends, codes[numbered.paths]),
            "labels": _lists(numbered.symbol_ends, labels[numbered.symbols]),
            "path_steps": pack(numbered.steps, 2 * numbered.path_ends),
            "label_names": names,
            "nodes": pack(numbered.nodes, batch.doc_offsets),
            "spans": pack(stored.numbers, stored.ends),
            "values": binary(stored.data, stored.offsets),
        }


class KnownPaths(NamedTuple):
    """Paths of a matcher: path k of `table` has the id `codes[k]`."""

    table: PathTable
    codes: Longs
    is_attribute: Flags


def decode(rows: pa.RecordBatch, known: KnownPaths, *, values: bool) -> EncodedBatch:
    """Returns the batch of these rows, its paths numbered as in `known`.

    Raises:
        DataError: a document has a path that is not known.
    """
    column = _column(rows, "paths")
    path = known_places(column, known)
    nodes, ends = unpack(_column(rows, "nodes"))
    first = np.asarray(column.offsets).astype(np.int64)
    whole = path[np.repeat(first[:-1] - first[0], np.diff(ends)) + nodes].astype(np.int32)
    return restore(whole, ends, known.table, _stored(rows, known.is_attribute) if values else None)


def known_places(paths: pa.ListArray, known: KnownPaths) -> Longs:
    """Returns the numbers of the paths of all documents, one document after the other.

    Raises:
        DataError: a document has a path that is not known.
    """
    places = find(known.codes, paths.flatten().to_numpy())
    if (places < 0).any():
        words = "a document has a path that the index was not joined with"
        raise DataError("paths_stale", words, hint="run join_paths first")
    return places


def distinct_paths(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Returns, for each path of these documents, its row of the table `paths`, once."""
    seen = np.zeros(0, np.int64)
    shown: dict[int, tuple[str, int]] = {0: ("", 0)}
    for rows in batches:
        column = _column(rows, "paths")
        codes = column.flatten().to_numpy()
        new, at = np.unique(codes, return_index=True)
        is_new = ~np.isin(new, seen, assume_unique=True)
        seen = np.union1d(seen, new[is_new])
        at = np.sort(at[is_new])  # parents come first within a document, and a parent known is shown already
        document = np.searchsorted(np.asarray(column.offsets), at + column.offsets[0].as_py(), side="right") - 1
        steps, _ = unpack(_column(rows, "path_steps"))
        starts = np.asarray(column.offsets) - column.offsets[0].as_py()
        names = {d: _column(rows, "label_names")[d].as_py().split(_SEPARATOR) for d in np.unique(document).tolist()}
        found: list[tuple[int, int, str, str, int]] = []
        for place, d in zip(at.tolist(), document.tolist(), strict=True):  # distinct paths are few
            above = int(steps[2 * place])
            parent = int(codes[starts[d] + above - 1]) if above else 0
            label = names[d][int(steps[2 * place + 1])].decode()
            text, depth = shown[parent]
            whole = f"{text}/{label}"
            whole = whole if len(whole) <= _SHOWN else f"…{whole[1 - _SHOWN :]}"
            shown[int(codes[place])] = whole, depth + 1
            found.append((int(codes[place]), parent, label, whole, depth + 1))
        if found:
            kinds = (pa.int64(), pa.int64(), pa.string(), pa.string(), pa.int32())
            columns = [pa.array(c, kind) for c, kind in zip(zip(*found, strict=True), kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, ["path_id", "parent_id", "label", "path", "depth"])


def _stored(rows: pa.RecordBatch, is_attribute: Flags) -> StoredValues:
    data, offsets = items(_column(rows, "values"))
    starts = (offsets - offsets[0]).astype(np.int64)
    return StoredValues(*unpack(_column(rows, "spans")), data[offsets[0] : offsets[-1]], starts, is_attribute)


def _column(rows: pa.RecordBatch, name: str) -> Any:
    return rows.column(rows.schema.get_field_index(name))


def _lists(ends: Longs, values: Longs) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), pa.array(values))


class _Numbered(NamedTuple):
    nodes: Ints  # of each node the number of its path within its document
    paths: Ints  # the distinct paths of each document, in the order in which they are met
    path_ends: Longs
    steps: Ints  # of each of these: the number of its parent + 1, or 0, and the number of its label
    symbols: Ints  # the distinct labels of each document, likewise
    symbol_ends: Longs


@kernel
def _number_paths(path: Ints, doc_offsets: Longs, parents: Ints, symbols: Ints) -> _Numbered:
    documents = doc_offsets.size - 1
    nodes = np.empty(path.size, np.int32)
    paths, labels = np.empty(path.size, np.int32), np.empty(path.size, np.int32)
    steps = np.empty(2 * path.size, np.int32)
    path_ends, symbol_ends = np.zeros(documents + 1, np.int64), np.zeros(documents + 1, np.int64)
    place = np.full(parents.size, -1, np.int64)  # where a path was put last: in this document if not before its first
    label_place = np.full(symbols.max() + 1 if symbols.size else 1, -1, np.int64)
    used = 0
    named = 0
    for document in range(documents):
        first, first_label = used, named
        for node in range(doc_offsets[document], doc_offsets[document + 1]):
            own = path[node]
            if place[own] < first:
                place[own] = used
                symbol = symbols[own]
                if label_place[symbol] < first_label:
                    label_place[symbol] = named
                    labels[named] = symbol
                    named += 1
                paths[used] = own
                above = parents[own]
                steps[2 * used] = place[above] - first + 1 if above > 0 else 0
                steps[2 * used + 1] = label_place[symbol] - first_label
                used += 1
            nodes[node] = place[own] - first
        path_ends[document + 1] = used
        symbol_ends[document + 1] = named
    return _Numbered(
        nodes, paths[:used].copy(), path_ends, steps[: 2 * used].copy(), labels[:named].copy(), symbol_ends
    )


@kernel
def _joined(symbols: Ints, ends: Longs, pool: Bytes, pool_ends: Longs) -> tuple[Bytes, Ints]:
    """The labels of each document, with a zero byte between them."""
    size = 0
    for symbol in symbols:
        size += pool_ends[symbol + 1] - pool_ends[symbol] + 1
    data = np.empty(size, np.uint8)
    offsets = np.zeros(ends.size, np.int32)
    at = 0
    for document in range(ends.size - 1):
        for k in range(ends[document], ends[document + 1]):
            if k > ends[document]:
                data[at] = 0
                at += 1
            start, stop = pool_ends[symbols[k]], pool_ends[symbols[k] + 1]
            data[at : at + stop - start] = pool[start:stop]
            at += stop - start
        offsets[document + 1] = at
    return data[:at].copy(), offsets
