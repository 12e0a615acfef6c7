"""Ingest XML documents of one data interval.

Reads: files, directories, globs and archives.
Writes: documents (new bytes only), document_sources (new places only), quarantine (new refusals only).

Each task reads, hashes and parses its files and writes Parquet parts for the three tables; bytes never pass through the
JVM. Then each table adopts what it does not hold yet, in one commit. Nothing in a row depends on the run, so running
twice, in halves, late, or again after a kill gives the same tables.
"""

import datetime as dt
from collections import Counter
from dataclasses import dataclass

from pyspark.sql import SparkSession

from winnow.ingest.accept import DEFAULT_LIMITS, Limits
from winnow.ingest.expansion import DEFAULT_EXPANSION, ExpansionLimits
from winnow.ingest.scan import TABLES, Outcome, Scan
from winnow.ingest.sources import Piece, list_files, plan, spread
from winnow.jobs.report import RunReport
from winnow.lake.parts import Part
from winnow.lake.session import driver_host
from winnow.lake.store import adopt, ensure_tables
from winnow.pipeline.progress import Channel, Progress


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    paths: tuple[str, ...]
    date: dt.date
    record_tag: str | None = None
    limits: Limits = DEFAULT_LIMITS
    expansion: ExpansionLimits = DEFAULT_EXPANSION


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("ingest_documents")
    with report.stage("list"):
        pieces = plan(list_files(config.paths), containers=config.record_tag is not None)
        ensure_tables(config.lake, TABLES)
    with report.stage("read and parse"), Progress("reading", host=driver_host(spark)) as channel:
        parts, items = scan(spark, pieces, config, channel)
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


def scan(spark: SparkSession, pieces: list[Piece], config: Config, channel: Channel) -> tuple[list[Part], Counter[str]]:
    """Read everything: the parts written, and the number of items by reason ('' is accepted).

    A plain RDD: its first job starts in two seconds where the first of a data frame takes six, and what comes back is
    a few names.
    """
    context = spark.sparkContext
    bins = spread(pieces, context.defaultParallelism * 2)
    shared = context.broadcast(bins)
    worker = Scan(
        lake=config.lake,
        date=config.date,
        record_tag=config.record_tag,
        limits=config.limits,
        expansion=config.expansion,
        tell=channel.tell,
    )

    def task(index: int) -> Outcome:
        return worker(file for piece in shared.value[index] for file in piece.files)

    outcomes = context.parallelize(range(len(bins)), max(len(bins), 1)).map(task).collect()
    items: Counter[str] = Counter()
    for outcome in outcomes:
        items.update(outcome.items)
    return sorted(part for outcome in outcomes for part in outcome.parts), items
