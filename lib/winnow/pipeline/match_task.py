"""What a worker does with its share of the documents: match them, and write the answers as parts. No Spark here."""

import datetime as dt
import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from winnow.arrays.types import Flags, Ints, Longs
from winnow.encoding import EncodedBatch, locations
from winnow.encoding.restore import StoredValues, restore
from winnow.errors import DataError
from winnow.index.lines import find
from winnow.index.packed import items, unpack
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, PartWriter, arrow_schema, open_parquet, parquet, read_batches
from winnow.matcher import BatchMatches, Matcher
from winnow.pipeline.document_splits import SPLIT_BYTES, Split, gathered, read_documents

TABLE = "matches_staged"
_DOCUMENTS = 4000  # encoded ones of one batch
_PACKED_BYTES = 4 << 20


class Known(NamedTuple):
    """Documents of a batch that are meant: their rows, ascending, and for each its id and its first place."""

    rows: Ints
    ids: pa.Array
    places: pa.Array

    def at(self, rows: Ints) -> tuple[Longs, Flags]:
        """Where these rows are, and whether they are there."""
        at = np.minimum(np.searchsorted(self.rows, rows), self.rows.size - 1)
        return at, self.rows[at] == rows


class Encodings(NamedTuple):
    """One data file of `encoded_documents`."""

    path: str
    known: Known  # of its batch, at least one
    inverted: tuple[str, ...]  # the data files of its batch in `path_documents`


class Piece(NamedTuple):
    """Documents of one interval: to be read, or known by their encoding."""

    date: dt.date
    source: Split | Encodings


class Sources(NamedTuple):
    """The first place of each document; ids ascending."""

    ids: "np.ndarray[Any, Any]"  # S64
    places: pa.Array

    def of(self, ids: pa.Array) -> pa.Array:
        named = np.asarray(ids.to_numpy(zero_copy_only=False), "S64")
        at = np.minimum(np.searchsorted(self.ids, named), self.ids.size - 1)
        if not self.ids.size or (self.ids[at] != named).any():
            raise source_missing()
        return self.places.take(pa.array(at))


def source_missing() -> DataError:
    return DataError(
        "source_missing",
        "a document of the interval has no place in document_sources",
        hint="ingest its file again: nothing is stored twice",
    )


class Question(NamedTuple):
    """What every task needs, sent to each executor once."""

    matcher: bytes  # pickled; its slots are the rows of `profiles`
    path_codes: Longs  # of the matcher's paths
    profiles: pa.Table  # profile_id, profile_version, subscriber, destination
    sources: dict[dt.date, Sources]  # of the documents that are to be read


class GivenUp(NamedTuple):
    document_id: str
    slot: int
    reason: str
    message: str


class Answer(NamedTuple):
    parts: dict[dt.date, list[Part]]
    undecided: dict[dt.date, list[GivenUp]]
    funnel: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class MatchTask:
    lake: str
    run_id: str
    tell: Callable[[int], None]  # so many documents are done

    def __call__(self, pieces: Iterable[Piece], question: Question) -> Answer:
        matcher = _matcher(question)
        before = matcher.funnel._asdict()
        writers: dict[dt.date, PartWriter] = {}
        undecided: dict[dt.date, list[GivenUp]] = {}
        for date, source in pieces:
            for ids, places, found in _matches(date, source, matcher, question):
                if found.documents.size:
                    if date not in writers:
                        writers[date] = PartWriter(self.lake, load_contract(TABLE), {"match_date": date})
                    writers[date].write(self._rows(ids, places, found, matcher, question.profiles))
                given_up = zip(
                    found.undecided_documents, found.undecided_profiles, found.undecided_reasons, strict=True
                )
                undecided.setdefault(date, []).extend(
                    GivenUp(ids[int(d)].as_py(), int(slot), *why) for d, slot, why in given_up
                )
                self.tell(len(ids))
        counts = matcher.funnel._asdict()
        sums = {name: counts[name] - before[name] for name in counts if name not in {"paths", "branches"}}
        funnel = sums | {name: counts[name] for name in ("paths", "branches")}
        return Answer({date: writer.close() for date, writer in writers.items()}, undecided, funnel)

    def _rows(
        self, ids: pa.Array, places: pa.Array, found: BatchMatches, matcher: Matcher, asked: pa.Table
    ) -> pa.Table:
        documents = pa.array(found.documents)
        profiles = asked.take(pa.array(found.profiles))
        text, offsets = locations(
            found.batch, found.witnesses.astype(np.int64), paths=matcher.paths, vocabulary=matcher.vocabulary
        )
        witnesses = pa.StringArray.from_buffers(
            offsets.size - 1, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(text)
        )
        columns: dict[str, Any] = {
            "document_id": ids.take(documents),
            "source": places.take(documents),
            **{name: profiles.column(name) for name in profiles.column_names},
            "witness": witnesses,
            "run_id": pa.repeat(self.run_id, len(documents)),
        }
        schema = arrow_schema(load_contract(TABLE))
        return pa.table([columns[name] for name in schema.names], schema=schema)


_LOADED: dict[int, Matcher] = {}  # a worker serves many tasks: it unpacks a matcher once


def forget_others(questions: Iterable[Question]) -> None:
    """Let go of the matchers of earlier questions, before new ones need the memory."""
    for key in _LOADED.keys() - {hash(question.matcher) for question in questions}:
        del _LOADED[key]


def _matcher(question: Question) -> Matcher:
    key = hash(question.matcher)
    if key not in _LOADED:
        _LOADED[key] = pickle.loads(question.matcher)
    return _LOADED[key]


def _matches(
    date: dt.date, source: Split | Encodings, matcher: Matcher, question: Question
) -> Iterator[tuple[pa.Array, pa.Array, BatchMatches]]:
    """Documents, their places, and what matches in them."""
    if isinstance(source, Split):
        for ids, contents, _ in read_documents([source]):
            yield ids, question.sources[date].of(ids), matcher.match_contents(contents)
    else:
        for at, batch in _encoded(source, matcher, question.path_codes):
            yield source.known.ids.take(at), source.known.places.take(at), matcher.match_encoded(batch)


def _encoded(source: Encodings, matcher: Matcher, path_codes: Longs) -> Iterator[tuple[pa.Array, EncodedBatch]]:
    """Documents by their place in `source.known`."""
    values = ["spans", "values"] if matcher.engine.needs_values else []
    is_attribute = matcher.symbols.signed() < 0
    with open_parquet(source.path) as reader:
        rows, parts = (column.to_numpy() for column in reader.read(columns=["row", "part"]).columns)
        _, chosen = source.known.at(rows)
        numbers = _Numbers.load(source, np.unique(parts[chosen]), path_codes)
        for packed in gathered(_packed(reader, chosen, values), _DOCUMENTS, _PACKED_BYTES):
            nodes, ends = unpack(packed.column("nodes"))
            paths = numbers.paths(nodes, ends, packed.column("part").to_numpy())
            stored = _values(packed, is_attribute) if values else None
            at, _ = source.known.at(packed.column("row").to_numpy())
            yield pa.array(at), restore(paths, ends, matcher.paths, stored)


def _values(rows: pa.RecordBatch, is_attribute: Flags) -> StoredValues:
    data, offsets = items(rows.column("values"))
    starts = (offsets - offsets[0]).astype(np.int64)
    return StoredValues(*unpack(rows.column("spans")), data[offsets[0] :], starts, is_attribute)


def _packed(reader: pq.ParquetFile, chosen: Flags, values: list[str]) -> Iterator[pa.RecordBatch]:
    """The chosen rows; a row group without any is not read."""
    columns = ["row", "part", "nodes", *values]
    groups = list(range(reader.num_row_groups))
    group_of = np.repeat(groups, [reader.metadata.row_group(group).num_rows for group in groups])
    groups = np.unique(group_of[chosen]).tolist()
    chosen = chosen[np.isin(group_of, groups)]
    return read_batches(reader, groups, columns, rows=_DOCUMENTS, size=SPLIT_BYTES, chosen=chosen)


class _Numbers(NamedTuple):
    """The matcher's path for number n of part `parts[k]` of a batch: `known[starts[k] + n]`."""

    parts: Longs
    starts: Longs
    known: Ints

    @classmethod
    def load(cls, source: Encodings, own: Ints, path_codes: Longs) -> "_Numbers":
        """Of these parts."""
        columns = ["path_id", "part", "number"]
        is_own = pc.field("part").isin(pa.array(own))
        rows = parquet(list(source.inverted)).to_table(columns=columns, filter=is_own)
        code, part, number = (column.to_numpy().astype(np.int64) for column in rows.columns)
        parts, at = np.unique(part, return_inverse=True)
        if parts.size < own.size:
            raise DataError(
                "structure_broken",
                f"path_documents does not explain the numbers in {source.path}",
                hint="remove its batch from encoded_documents: the next run encodes the documents anew",
            )
        sizes = np.zeros(parts.size, np.int64)
        np.maximum.at(sizes, at, number + 1)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        known = np.full(starts[-1], -1, np.int32)
        known[starts[at] + number] = find(path_codes, code)
        return cls(parts, starts, known)

    def paths(self, numbers: Ints, ends: Longs, parts: Ints) -> Ints:
        starts = self.starts[np.searchsorted(self.parts, parts)]
        found: Ints = self.known[np.repeat(starts, np.diff(ends)) + numbers]
        return found
