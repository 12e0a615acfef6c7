"""Ingest XML documents of one data interval.

Reads: files, directories, globs and archives.
Writes: documents (new bytes only), document_sources (new places only), quarantine (new refusals only).

One pass reads, parses and hashes; its result is spooled, then three appends add what each table does not hold yet. Each
append is a set difference on the table's key, so running twice, in halves, late, or again after a kill gives the same
tables: there is nothing in a row that depends on the run.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from winnow.ingest.accept import DEFAULT_LIMITS, Accepted, Limits, Refused, accept
from winnow.ingest.read import Item, arrow_batches, read_file
from winnow.ingest.sources import Piece, list_files, plan
from winnow.lake.contracts import load_contract
from winnow.lake.tables import Lake
from winnow.pipeline.progress import Progress
from winnow.pipeline.report import RunReport

TABLES = ("documents", "document_sources", "quarantine")
FILE_BYTES = 128 * 1024 * 1024  # of document content per data file of `documents`

# One row per item read: a document where `reason` is null, else a refusal.
SCAN = pa.schema(
    [
        ("source", pa.string()),
        ("member", pa.string()),
        ("record", pa.int64()),
        ("document_id", pa.string()),
        ("encoding", pa.string()),
        ("root", pa.string()),
        ("internal_subset", pa.bool_()),
        ("content", pa.binary()),
        ("size_bytes", pa.int64()),
        ("reason", pa.string()),
        ("line", pa.int64()),
        ("column", pa.int64()),
        ("message", pa.string()),
    ]
)
SCAN_SPARK = (
    "source string, member string, record long, document_id string, encoding string, root string, "
    "internal_subset boolean, content binary, size_bytes long, reason string, line long, column long, message string"
)
PLACE = ("source", "member", "record")


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    paths: tuple[str, ...]
    date: dt.date
    record_tag: str | None = None
    limits: Limits = DEFAULT_LIMITS


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("ingest_documents")
    lake = Lake(spark, config.lake)
    with report.stage("list"):
        pieces = plan(list_files(config.paths), containers=config.record_tag is not None)
    with report.stage("read and parse"), ThreadPoolExecutor(1) as pool:
        # Creating the tables needs only the driver: it goes on beside the scan.
        ready = pool.submit(lake.ensure, TABLES)
        scanned = scan(spark, pieces, config).persist(StorageLevel.DISK_ONLY)
        with Progress(spark, "reading", unit="documents"):
            reasons = {row["reason"]: row for row in summarise(scanned).collect()}
        ready.result()
    try:
        with report.stage("write"), Progress(spark, "writing"):
            stored = _store(lake, scanned, config, known=reasons.get(None))
    finally:
        scanned.unpersist()
    good = reasons.pop(None, None)
    accepted = good["items"] if good else 0
    report.counts = {
        "files": sum(len(piece.files) for piece in pieces),
        "read": accepted + sum(row["items"] for row in reasons.values()),
        "stored": stored,
        "duplicates": accepted - stored,
        "quarantined": sum(row["items"] for row in reasons.values()),
    } | {f"quarantined: {reason}": reasons[reason]["items"] for reason in sorted(reasons)}
    return report


def scan(spark: SparkSession, pieces: list[Piece], config: Config) -> DataFrame:
    """One task per piece: read, hash, parse."""
    if not pieces:
        return spark.createDataFrame([], SCAN_SPARK)
    shared = spark.sparkContext.broadcast(pieces)
    ids = spark.range(0, len(pieces), 1, numPartitions=len(pieces))
    return ids.mapInArrow(_scanner(lambda: shared.value, config), SCAN_SPARK)


def _scanner(
    pieces: Callable[[], list[Piece]], config: Config
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def scanner(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        wanted = (pieces()[index] for batch in batches for index in batch.column(0).to_pylist())
        items = (
            item
            for piece in wanted
            for file in piece.files
            for item in read_file(file, record_tag=config.record_tag, max_bytes=config.limits.max_bytes)
        )
        yield from arrow_batches((judge(item, config.limits) for item in items), SCAN, weigh=7)

    return scanner


def judge(item: Item, limits: Limits) -> tuple[Any, ...]:
    """An item as a row of SCAN."""
    place, content, verdict = item.place, item.content, item.refused or accept(item.content, limits)
    head = (place.source, place.member, place.record)
    match verdict:
        case Accepted(document_id, encoding, root, internal_subset):
            return (*head, document_id, encoding, root, internal_subset, content, len(content), None, 0, 0, "")
        case Refused(reason, message, line, column):
            within = line + place.line - 1 if line else (place.line if place.record else 0)
            kept = content or None
            return (*head, None, None, None, None, kept, len(content), str(reason), within, column, message)


def summarise(scanned: DataFrame) -> DataFrame:
    return scanned.groupBy("reason").agg(
        F.count("*").alias("items"),
        F.sum("size_bytes").alias("bytes"),
        F.countDistinct("document_id").alias("documents"),
    )


def _store(lake: Lake, scanned: DataFrame, config: Config, *, known: Any) -> int:
    """Append to the three tables what each does not hold yet; returns how many documents were new."""
    run = {"job": "ingest_documents", "date": config.date.isoformat()}
    date = F.lit(config.date)
    accepted = scanned.where("reason is null")
    stored = 0
    with lake.lock("documents"):
        if known:
            surplus = to_surplus(
                accepted, lake.read("documents"), distinct=known["items"] == known["documents"]
            ).cache()
            stored = known["items"] - surplus.count()
            # Few, well-filled files: coalescing moves nothing between executors.
            files = max(known["bytes"] // FILE_BYTES, lake.spark.sparkContext.defaultParallelism)
            if stored:
                documents = to_documents(accepted, surplus if stored < known["items"] else None, date)
                lake.append("documents", documents.coalesce(files), run=run)
            surplus.unpersist()
    for table, frame in (
        ("document_sources", to_sources(accepted, date)),
        ("quarantine", to_quarantine(scanned.where("reason is not null"), date)),
    ):
        with lake.lock(table):
            new = absent(frame, lake.read(table), load_contract(table).key).coalesce(1).cache()
            if not new.isEmpty():  # nothing new makes no version
                lake.append(table, new, run=run)
            new.unpersist()
    return stored


def absent(frame: DataFrame, table: DataFrame, key: tuple[str, ...]) -> DataFrame:
    """The rows whose key the table does not hold yet."""
    return frame.join(table.select(*key), on=list(key), how="left_anti").select(*frame.columns)


def to_surplus(accepted: DataFrame, documents: DataFrame, *, distinct: bool) -> DataFrame:
    """Places whose document is stored already, or comes from another place of this batch (the first place wins)."""
    places = accepted.select("document_id", *PLACE)
    if distinct:
        return places.join(documents.select("document_id"), on="document_id", how="left_semi").select(*PLACE)
    nth = F.row_number().over(Window.partitionBy("document_id").orderBy(*PLACE))
    stored = documents.select("document_id", F.lit(True).alias("stored"))
    ranked = places.withColumn("nth", nth).join(stored, on="document_id", how="left")
    return ranked.where("stored or nth > 1").select(*PLACE)


def to_documents(accepted: DataFrame, surplus: DataFrame | None, date: Any) -> DataFrame:
    """One row per new document. Content is never shuffled: only places travel."""
    if surplus is not None:
        accepted = accepted.join(F.broadcast(surplus), on=list(PLACE), how="left_anti")
    return accepted.withColumn("ingest_date", date).select(*load_contract("documents").names)


def to_sources(accepted: DataFrame, date: Any) -> DataFrame:
    return accepted.withColumn("ingest_date", date).select(*load_contract("document_sources").names)


def to_quarantine(refused: DataFrame, date: Any) -> DataFrame:
    digest = F.sha2(F.coalesce(F.col("content"), F.lit(b"")), 256)
    identity = F.sha2(F.concat_ws("\n", "source", "member", "record", "reason", digest), 256)
    return (
        refused.withColumn("quarantine_id", identity)
        .withColumn("ingest_date", date)
        .select(*load_contract("quarantine").names)
    )
