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

from winnow.encoding import locate, to_utf8
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, PartWriter, arrow_schema, filesystem
from winnow.matcher import BatchMatches, Matcher

BATCH = 1000  # documents
TABLE = "matches_staged"


class Split(NamedTuple):
    """Some row groups of one data file of `documents`."""

    path: str
    row_groups: tuple[int, ...]


class Question(NamedTuple):
    """What every task needs, sent to each executor once."""

    matcher: bytes  # pickled; its slots are the rows of `profiles`
    profiles: pa.Table  # profile_id, profile_version, subscriber, destination
    sources: pa.Table  # document_id, source


class Answer(NamedTuple):
    parts: list[Part]
    funnel: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class MatchTask:
    lake: str
    date: dt.date
    run_id: str
    tell: Callable[[int], None]  # so many documents are done

    def __call__(self, splits: Iterable[Split], question: Question) -> Answer:
        matcher = _matcher(question)
        before = matcher.funnel._asdict()
        writer = PartWriter(self.lake, load_contract(TABLE), {"match_date": self.date})
        for ids, contents in _documents(splits):
            found = matcher.match_contents(contents)
            if found.documents.size:
                writer.write(self._rows(ids, found, matcher, question))
            self.tell(len(contents))
        counts = matcher.funnel._asdict()
        sums = {name: counts[name] - before[name] for name in counts if name not in {"paths", "branches"}}
        return Answer(writer.close(), sums | {name: counts[name] for name in ("paths", "branches")})

    def _rows(self, ids: pa.Array, found: BatchMatches, matcher: Matcher, question: Question) -> pa.Table:
        places = pc.index_in(ids, value_set=question.sources.column("document_id").combine_chunks())
        sources = question.sources.column("source").take(places)
        profiles = question.profiles.take(pa.array(found.profiles))
        documents = pa.array(found.documents)
        witnesses = locate(found.batch, found.witnesses, paths=matcher.paths, vocabulary=matcher.vocabulary)
        columns: dict[str, Any] = {
            "document_id": ids.take(documents),
            "source": sources.take(documents),
            **{name: profiles.column(name) for name in profiles.column_names},
            "witness": pa.array(witnesses, pa.string()),
            "run_id": pa.array(np.full(len(documents), self.run_id)),
        }
        schema = arrow_schema(load_contract(TABLE))
        return pa.table([columns[name] for name in schema.names], schema=schema)


_LOADED: dict[int, Matcher] = {}  # a worker serves many tasks: it unpacks the matcher once


def _matcher(question: Question) -> Matcher:
    key = hash(question.matcher)
    if key not in _LOADED:
        _LOADED.clear()
        _LOADED[key] = pickle.loads(question.matcher)
    return _LOADED[key]


def _documents(splits: Iterable[Split]) -> Iterator[tuple[pa.Array, list[bytes]]]:
    """(ids, contents in UTF-8), batch by batch."""
    for split in splits:
        files, path = filesystem(split.path)
        with files.open_input_file(path) as stream:
            columns = ["document_id", "content", "encoding"]
            reader = pq.ParquetFile(stream)
            for batch in reader.iter_batches(BATCH, row_groups=list(split.row_groups), columns=columns):
                contents = batch.column(1).to_pylist()
                encodings = batch.column(2)
                for row in pc.indices_nonzero(pc.not_equal(encodings, "utf-8")).to_pylist():
                    contents[row] = to_utf8(contents[row], encodings[row].as_py())
                yield batch.column(0), contents
