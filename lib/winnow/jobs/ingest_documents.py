"""Ingest XML documents of one data interval.

Reads:  files, directories, globs and archives
Writes: arrivals; documents, document_sources and quarantine, derived from it

Every record is read, hashed and judged once and becomes a row of arrivals. What is new among these rows goes to the
other three tables, by key, so that ingesting twice, in halves, late, or again after a kill gives the same tables.
"""

import datetime as dt
import json
import uuid
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.jobs.report import RunReport
from winnow.spark.xml_source import XmlDataSource
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_small

DERIVED = ("documents", "document_sources", "quarantine")
PLACE = ("source", "member", "record")


@dataclass(frozen=True, kw_only=True)
class Config:
    """What is ingested as the documents of a date; `options` are those of the format `winnow_xml`."""

    lake: Lake
    paths: tuple[str, ...]
    date: dt.date
    options: Mapping[str, str] = field(default_factory=dict)


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("ingest_documents")
    tables = config.lake.open(spark)
    ingest_id = uuid.uuid4().hex
    spark.dataSource.register(XmlDataSource)
    with report.stage("read and judge"):
        options = {"filesystemOptions": json.dumps(dict(config.lake.filesystem_options)), **config.options}
        records = spark.read.format("winnow_xml").options(**options).load(list(config.paths))
        tables.append("arrivals", arrivals(records, config.date, ingest_id), Transaction(f"arrivals/{ingest_id}"))
    with report.stage("derive"):
        own = tables.read("arrivals", interval=config.date).where(sf.col("ingest_id") == ingest_id)
        counts = outcomes(own)
        stored = derive(tables, own)
        tables.delete("arrivals", f"ingest_date = DATE'{config.date}' AND ingest_id = '{ingest_id}'")
    refused = {reason: count for reason, count in sorted(counts.items()) if reason}
    report.counts = {
        "read": sum(counts.values()),
        "stored": stored["documents"],
        "duplicates": counts[""] - stored["documents"],
        "quarantined": sum(refused.values()),
    } | {f"quarantined: {reason}": count for reason, count in refused.items()}
    return report


def derive(tables: Tables, own: DataFrame) -> dict[str, int]:
    """Adds what is new among the arrivals to the tables that people read; returns how many rows that were."""
    new = {"documents": documents(own), "document_sources": document_sources(own), "quarantine": quarantine(own)}
    with ThreadPoolExecutor(len(new)) as threads:  # three commits that do not depend on each other
        counts = threads.map(lambda name: tables.append_unknown(name, new[name]), new)
        return dict(zip(new, counts, strict=True))


def arrivals(records: DataFrame, date: dt.date, ingest_id: str) -> DataFrame:
    """Returns the records of `winnow_xml` as one ingest has seen them."""
    is_refused = sf.col("reason").isNotNull()
    place_and_fault = sf.concat_ws(
        "\n", *PLACE, "reason", sf.sha2(sf.coalesce("content", sf.lit(b"")), 256)
    )  # the same refusal of the same bytes at the same place is one row of quarantine
    return (
        records.withColumn("quarantine_id", sf.when(is_refused, sf.sha2(place_and_fault, 256)))
        .withColumn("size_bytes", sf.coalesce(sf.octet_length("content"), sf.lit(0)).cast("long"))
        .withColumn("ingest_id", sf.lit(ingest_id))
        .withColumn("ingest_date", sf.lit(date))
        .select(*contract("arrivals").names)
    )


def documents(own: DataFrame) -> DataFrame:
    """Returns each accepted document once."""
    return (
        own.where("document_id IS NOT NULL")
        .dropDuplicates(["document_id"])  # the same bytes arrive from several places
        .select(*contract("documents").names)
    )


def document_sources(own: DataFrame) -> DataFrame:
    """Returns where accepted documents were seen; an archive may have two members of one name and the same bytes."""
    names = contract("document_sources").names
    return own.where("document_id IS NOT NULL").select(*names).dropDuplicates(["document_id", *PLACE])


def quarantine(own: DataFrame) -> DataFrame:
    """Returns what is no document, with its bytes and the reason."""
    return (
        own.where("quarantine_id IS NOT NULL").dropDuplicates(["quarantine_id"]).select(*contract("quarantine").names)
    )


def outcomes(own: DataFrame) -> Counter[str]:
    """Returns how many records were refused for which reason; '' is for those that were accepted."""
    counted = own.groupBy(sf.coalesce("reason", sf.lit("")).alias("reason")).count()
    return Counter({row["reason"]: row["count"] for row in read_small(counted)})
