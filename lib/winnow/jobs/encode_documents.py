"""Encode the documents of one data interval that have no encoding yet.

Reads:  documents, encoded_documents, document_sources, runs
Writes: encoded_documents; paths, derived from it; quarantine, what the encoder refuses

A row of encoded_documents depends on its document alone, and is added by its key. So a run that was killed, or two at
once, encode what is left, once. What is derived is derived from every batch that no run has answered yet: the run that
encoded it may have been killed before it came so far, or may not be there yet.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.jobs.report import RunReport
from winnow.tables import Lake, Tables, contract
from winnow.tables.small import read_one, read_small
from winnow.tables.transactions import retried

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("encoded_documents", "paths")
_ENCODED_TYPE = contract("encoded_documents").row_type_of("batch", "ingest_date")


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    date: dt.date
    run_id: str


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("encode_documents")
    tables = config.lake.open(spark)
    tables.create(*TABLES)
    with report.stage("plan"):
        stored = tables.read("documents", interval=config.date)
        encoded = tables.read("encoded_documents", interval=config.date)
        documents = stored.count()
        batches = {row["batch"]: row["count"] for row in read_small(encoded.groupBy("batch").count())}
        known, answered = sum(batches.values()), answered_batches(tables, config.date)
    report.counts = {"documents": documents, "encoded": 0}
    if (
        documents == known and batches.keys() <= answered
    ):  # whoever takes a document out of the one table takes it out of both
        return report.nothing_to_do()
    if documents != known:
        with report.stage("encode"):
            report.counts["encoded"] = retried(lambda: add_encodings(tables, config), table="encoded_documents")
    with report.stage("paths"):
        is_answered = sf.col("batch").isin(*answered)
        unanswered = tables.read("encoded_documents", interval=config.date).where(~is_answered)
        new = new_paths(unanswered, tables.read("paths"))
        report.counts["new paths"] = add_paths(tables, new, expected=documents != known)
        refused = unanswered.where("refused IS NOT NULL")
        count = read_one(refused.agg(sf.count("*").alias("documents")))["documents"]
    if count:
        with report.stage("quarantine"):
            quarantine(tables, refused, config.date)
        report.counts |= {"encoded": max(report.counts["encoded"] - count, 0), "quarantined": count}
    return report


def answered_batches(tables: Tables, date: dt.date) -> set[str]:
    """Returns the batches that a run has staged answers of: all that is derived from them is there."""
    if not tables.exists("runs"):
        return set()
    asked = tables.read("runs").where(sf.col("match_date") == sf.lit(date)).select(sf.explode("batches")).distinct()
    return {row[0] for row in read_small(asked)}


def add_encodings(tables: Tables, config: Config) -> int:
    """Encodes the documents that have no encoding; returns how many."""
    version = tables.version("encoded_documents")
    encoded = tables.read("encoded_documents", version=version, interval=config.date)
    unencoded = tables.read("documents", interval=config.date).join(encoded, "document_id", "left_anti")
    rows = encode(unencoded, config.date, config.run_id)
    return tables.append_after("encoded_documents", version, rows, interval=config.date)


def add_paths(tables: Tables, paths: DataFrame, *, expected: bool) -> int:
    """Adds paths; where none are expected, it is asked first, since a MERGE of nothing is a commit, too."""
    if not expected and not read_small(paths.limit(1)):
        return 0
    return tables.append_new("paths", paths)


def encode(documents: DataFrame, date: dt.date, batch: str) -> DataFrame:
    """Returns a row for each document that can be read without any other."""
    return (
        documents.select("document_id", "content", "encoding")
        .mapInArrow(_encode, _ENCODED_TYPE)
        .withColumn("batch", sf.lit(batch))
        .withColumn("ingest_date", sf.lit(date))
        .select(*contract("encoded_documents").names)
    )


def new_paths(encoded: DataFrame, known: DataFrame) -> DataFrame:
    """Returns the label paths of these documents that no document had before."""
    return (
        encoded.select("paths", "path_steps", "label_names")
        .mapInArrow(_distinct_paths, contract("paths").row_type)
        .dropDuplicates(["path_id"])  # documents of several tasks share their paths
        .join(known, "path_id", "left_anti")
        .select(*contract("paths").names)
    )


def quarantine(tables: Tables, refused: DataFrame, date: dt.date) -> None:
    """Moves stored documents that the encoder refuses to quarantine, a row for each place, and the others go on.

    They leave encoded_documents last: a run that was killed before is finished by the next one.
    """
    sources, documents = (tables.read(name, interval=date) for name in ("document_sources", "documents"))
    tables.append_new("quarantine", quarantined(refused, sources, documents))
    names = read_one(refused.agg(sf.collect_list("document_id").alias("ids")))["ids"]
    listed = ", ".join(f"'{name}'" for name in names)  # hexadecimal digits
    for table in ("document_sources", "documents", "encoded_documents"):
        tables.delete(table, f"ingest_date = DATE'{date}' AND document_id IN ({listed})")


def quarantined(refused: DataFrame, sources: DataFrame, documents: DataFrame) -> DataFrame:
    """Returns the rows of quarantine for documents that were stored and are none."""
    place_and_fault = sf.concat_ws("\n", "source", "member", "record", "reason", sf.sha2("content", 256))
    return (
        refused.select("document_id", "refused.*")
        .join(sources, "document_id")
        .join(documents.select("document_id", "content", "size_bytes"), "document_id")
        .withColumn("quarantine_id", sf.sha2(place_and_fault, 256))
        .select(*contract("quarantine").names)
    )


def _encode(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    from winnow.index.document_tasks import encode_documents

    return encode_documents(batches)


def _distinct_paths(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    from winnow.index.encoded_rows import distinct_paths

    return distinct_paths(batches)
