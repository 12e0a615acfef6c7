"""Judge again what was refused, from the bytes that quarantine keeps: after a fix, or with other limits.

Reads:  quarantine, document_sources
Writes: arrivals; documents and document_sources, what is accepted now, for the date for which it was refused;
        quarantine, which loses it, and with it what has been accepted at the same place since
"""

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.jobs.forget import is_from
from winnow.jobs.ingest_documents import PLACE, document_sources, documents
from winnow.jobs.report import RunReport
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_one, read_small

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DATES = 100_000
_JUDGED = (
    "quarantine_id string, source string, member string, record bigint, content binary, size_bytes bigint,"
    " ingest_date date, document_id string, encoding string, root string"
)


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is left out means all."""

    lake: Lake
    reason: str | None = None
    date: dt.date | None = None
    source: str | None = None  # a file, or a folder
    max_bytes: int | None = None
    max_nodes: int | None = None


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("ingest_again")
    tables = config.lake.open(spark)
    tables.create("quarantine", "documents", "document_sources")
    refused = chosen(tables, config)
    ingest_id = uuid.uuid4().hex
    with report.stage("judge"):
        counts = read_one(refused.agg(sf.count("*").alias("rows"), sf.count("content").alias("kept")))
        judged = accepted(refused, config)
        tables.append("arrivals", as_arrivals(judged, ingest_id), Transaction(f"arrivals/{ingest_id}"))
    with report.stage("derive"):
        own = tables.read("arrivals").where(sf.col("ingest_id") == ingest_id)
        taken = own.count()
        stored = tables.append_unknown("documents", documents(own))
        tables.append_unknown("document_sources", document_sources(own))
        settled = tables.delete_keys("quarantine", settled_refusals(refused, tables.read("document_sources")))
        for row in read_small(own.select("ingest_date").distinct(), MAX_DATES):
            tables.delete("arrivals", f"ingest_date = DATE'{row['ingest_date']}' AND ingest_id = '{ingest_id}'")
    report.counts = {
        "refused before": counts["rows"],
        "accepted": taken,
        "stored": stored,
        "settled": settled,
        "still refused": counts["rows"] - settled,
        "without bytes": counts["rows"] - counts["kept"],
    }
    return report


def chosen(tables: Tables, config: Config) -> DataFrame:
    """Returns the rows of quarantine that are meant."""
    rows = tables.read("quarantine") if config.date is None else tables.read("quarantine", interval=config.date)
    if config.reason is not None:
        rows = rows.where(sf.col("reason") == config.reason)
    return rows if config.source is None else rows.where(is_from(config.source))


def accepted(refused: DataFrame, config: Config) -> DataFrame:
    """Returns what is a document now, of the rows whose bytes were kept."""
    columns = ("quarantine_id", *PLACE, "content", "size_bytes", "ingest_date")
    kept = refused.where("content IS NOT NULL").select(*columns)
    return kept.mapInArrow(_accept(config.max_bytes, config.max_nodes), _JUDGED)


def as_arrivals(judged: DataFrame, ingest_id: str) -> DataFrame:
    nothing = {name: sf.lit(None).cast("string") for name in ("quarantine_id", "reason", "message")}
    nowhere = {name: sf.lit(None).cast("bigint") for name in ("line", "column")}
    return judged.withColumns({**nothing, **nowhere, "ingest_id": sf.lit(ingest_id)}).select(
        *contract("arrivals").names
    )


def settled_refusals(refused: DataFrame, sources: DataFrame) -> DataFrame:
    """Returns the refusals of places at which a document was seen since; with bytes, if it is of these bytes."""
    seen = sources.select(*PLACE, "document_id")
    is_same = sf.col("content").isNull() | (sf.sha2("content", 256) == sf.col("document_id"))
    return refused.join(seen, list(PLACE)).where(is_same).select("quarantine_id").distinct()


def _accept(
    max_bytes: int | None, max_nodes: int | None
) -> "Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    def judge(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        from winnow.ingest.accept import DEFAULT_LIMITS
        from winnow.ingest.again_tasks import accept_again

        given = {"max_bytes": max_bytes, "max_nodes": max_nodes}
        return accept_again(batches, DEFAULT_LIMITS._replace(**{k: v for k, v in given.items() if v is not None}))

    return judge
