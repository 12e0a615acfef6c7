"""Ingest XML documents of one data interval.

Reads: files, directories, globs and archives.
Writes: documents (new bytes only), document_sources (new places only), quarantine (new refusals only).

Each task reads, hashes and parses its files and writes Parquet parts for the three tables; bytes never pass through the
JVM. Then each table adopts what it does not hold yet, in one commit. Nothing in a row depends on the run, so running
twice, in halves, late, or again after a kill gives the same tables.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from winnow.ingest.accept import DEFAULT_LIMITS, Limits
from winnow.ingest.scan import TABLES, Scan
from winnow.ingest.sources import Piece, list_files, plan, spread
from winnow.lake.parts import Part
from winnow.lake.store import adopt, ensure_tables
from winnow.pipeline.progress import Progress
from winnow.pipeline.report import RunReport

OUTCOME_SPARK = "table string, path string, rows long, size long, reason string"


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    paths: tuple[str, ...]
    date: dt.date
    record_tag: str | None = None
    limits: Limits = DEFAULT_LIMITS


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
            table: adopt(
                config.lake, table, [part for part in parts if part.table == table], {"ingest_date": config.date}, run
            )
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
    worker = Scan(lake=config.lake, date=config.date, record_tag=config.record_tag, limits=config.limits)

    def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        indexes = (index for batch in batches for index in batch.column(0).to_pylist())
        return worker(file for index in indexes for piece in shared.value[index] for file in piece.files)

    outcomes = tasks.mapInArrow(task, OUTCOME_SPARK)
    rows = outcomes.where("rows is not null").collect()
    parts = [Part(row["table"], row["path"], row["rows"], row["size"]) for row in rows if row["table"]]
    items: dict[str, int] = {}
    for row in rows:
        if not row["table"]:
            items[row["reason"]] = items.get(row["reason"], 0) + row["rows"]
    return sorted(parts), items
