"""Ingest XML documents of one data interval.

Reads: files, directories, globs and archives.
Writes: documents (new bytes only), document_sources (new places only), quarantine (new refusals only).

Each task reads, hashes and parses its files and writes Parquet parts for the three tables; bytes never pass through the
JVM. Then each table adopts what it does not hold yet, in one commit. Nothing in a row depends on the run, so running
twice, in halves, late, or again after a kill gives the same tables.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from winnow.ingest.accept import DEFAULT_LIMITS, Accepted, Limits, Refused, accept
from winnow.ingest.read import Item, read_file
from winnow.ingest.sources import Piece, list_files, plan, spread
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, PartWriter, arrow_schema
from winnow.lake.store import adopt, ensure_tables
from winnow.pipeline.progress import Progress
from winnow.pipeline.report import RunReport

TABLES = ("documents", "document_sources", "quarantine")
BATCH_BYTES = 4 << 20
BATCH_ROWS = 2000

# What a task tells the driver: a part it wrote, or how many items had a reason (none: accepted). Besides, an empty row
# per item read, so that Spark's live row count is the progress.
OUTCOME = pa.schema(
    [("table", pa.string()), ("path", pa.string()), ("rows", pa.int64()), ("size", pa.int64()), ("reason", pa.string())]
)
OUTCOME_SPARK = "table string, path string, rows long, size long, reason string"


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    paths: tuple[str, ...]
    date: dt.date
    record_tag: str | None = None
    limits: Limits = DEFAULT_LIMITS

    @property
    def partition(self) -> dict[str, str]:
        return {"ingest_date": self.date.isoformat()}


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("ingest_documents")
    with report.stage("list"):
        pieces = plan(list_files(config.paths), containers=config.record_tag is not None)
        ensure_tables(config.lake, TABLES)
    with report.stage("read and parse"), Progress(spark, "reading", unit="documents"):
        parts, items = scan(spark, pieces, config)
    with report.stage("commit"):
        run = {"job": "ingest_documents", "date": config.date.isoformat()}
        new = {
            table: adopt(config.lake, table, [part for part in parts if part.table == table], config.partition, run)
            for table in TABLES
        }
    accepted = items.pop("", 0)
    report.counts = {
        "files": sum(len(piece.files) for piece in pieces),
        "read": accepted + sum(items.values()),
        "stored": new["documents"],
        "duplicates": accepted - new["documents"],
        "quarantined": sum(items.values()),
    } | {f"quarantined: {reason}": items[reason] for reason in sorted(items)}
    return report


def scan(spark: SparkSession, pieces: list[Piece], config: Config) -> tuple[list[Part], dict[str, int]]:
    """Read everything: the parts written, and the number of items by reason ('' is accepted)."""
    bins = spread(pieces, spark.sparkContext.defaultParallelism * 2)
    shared = spark.sparkContext.broadcast(bins)
    tasks = spark.range(0, len(bins), 1, numPartitions=max(len(bins), 1))
    outcomes = tasks.mapInArrow(_task(lambda: shared.value, config), OUTCOME_SPARK)
    rows = outcomes.where("rows is not null").collect()
    parts = [Part(row["table"], row["path"], row["rows"], row["size"]) for row in rows if row["table"]]
    items: dict[str, int] = {}
    for row in rows:
        if not row["table"]:
            items[row["reason"]] = items.get(row["reason"], 0) + row["rows"]
    return sorted(parts), items


def _task(
    bins: Callable[[], list[list[Piece]]], config: Config
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        output = Output(config)
        for index in (i for batch in batches for i in batch.column(0).to_pylist()):
            for piece in bins()[index]:
                for file in piece.files:
                    for item in read_file(file, record_tag=config.record_tag, max_bytes=config.limits.max_bytes):
                        if output.add(item):
                            yield _outcomes([(None,) * 5] * output.flush())
        yield _outcomes([(None,) * 5] * output.flush())
        yield _outcomes(output.close())

    return task


def _outcomes(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(OUTCOME)
    arrays = [pa.array(column, type=field.type) for column, field in zip(columns, OUTCOME, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=OUTCOME)


class Rows(NamedTuple):
    documents: list[tuple[Any, ...]]
    document_sources: list[tuple[Any, ...]]
    quarantine: list[tuple[Any, ...]]


class Output:
    """Judges the items of one task and writes its parts."""

    def __init__(self, config: Config) -> None:
        self._limits = config.limits
        self._contracts = {table: load_contract(table) for table in TABLES}
        self._writers = {
            table: PartWriter(config.lake, contract, config.partition) for table, contract in self._contracts.items()
        }
        self._seen: set[bytes] = set()  # digests: the same bytes twice in one task are one row
        self._items: dict[str, int] = {}
        self._rows = Rows([], [], [])
        self._bytes = self._pending = 0

    def add(self, item: Item) -> bool:
        """True when it is time to flush."""
        place, content, verdict = item.place, item.content, item.refused or accept(item.content, self._limits)
        where = (place.source, place.member, place.record)
        match verdict:
            case Accepted(document_id, encoding, root, internal_subset):
                reason = ""
                self._rows.document_sources.append((document_id, *where))
                if (digest := bytes.fromhex(document_id)) not in self._seen:
                    self._seen.add(digest)
                    self._rows.documents.append((document_id, content, len(content), encoding, root, internal_subset))
                    self._bytes += len(content)
            case Refused(reason, message, line, column):
                line = line + place.line - 1 if line else (place.line if place.record else 0)
                identity = "\n".join((*map(str, where), reason, hashlib.sha256(content).hexdigest()))
                quarantine_id = hashlib.sha256(identity.encode()).hexdigest()
                row = (quarantine_id, *where, str(reason), line, column, message, content or None, len(content))
                self._rows.quarantine.append(row)
                self._bytes += len(content)
        self._items[reason] = self._items.get(reason, 0) + 1
        self._pending += 1
        return self._bytes >= BATCH_BYTES or self._pending >= BATCH_ROWS

    def flush(self) -> int:
        """Write what is pending; returns how many items that were."""
        for table, rows in zip(TABLES, self._rows, strict=True):
            if rows:
                schema = arrow_schema(self._contracts[table])
                columns = [pa.array(c, type=f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
                self._writers[table].write(pa.RecordBatch.from_arrays(columns, schema=schema))
        done, self._pending, self._bytes, self._rows = self._pending, 0, 0, Rows([], [], [])
        return done

    def close(self) -> list[tuple[Any, ...]]:
        parts = [part for writer in self._writers.values() for part in writer.close()]
        return [(*part, None) for part in parts] + [("", "", n, 0, str(reason)) for reason, n in self._items.items()]
