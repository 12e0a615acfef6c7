"""Forget documents: takes them, and all that was derived from them, out of every table.

Reads:  documents, document_sources, quarantine
Writes: every table that names documents or holds their bytes or values; deliveries, counted anew; selectivity,
        estimated anew; quality_results, without examples; the pages beside the tables go; forgotten, that it was done

What says which documents are meant goes last, so a run that was killed is finished by the same call. Older versions of
the tables keep what they had until VACUUM removes their files.
"""

import datetime as dt
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.errors import UsageError
from winnow.jobs import sample_values
from winnow.jobs.maintain import RETENTION_HOURS
from winnow.jobs.publish_matches import deliveries
from winnow.jobs.report import RunReport
from winnow.quality.data_docs import remove_pages
from winnow.tables import Lake, Tables, Transaction, contract, table_names
from winnow.tables.small import read_one, read_small

RECORD = "forgotten"
LAST = ("documents", "document_sources")  # they say which documents are meant
MAX_DATES = 100_000
_ID = "[0-9a-f]{64}"


@dataclass(frozen=True, kw_only=True)
class Config:
    """One of `document`, `source` and `before` says what is meant."""

    lake: Lake
    document: str | None = None  # the sha256 of its bytes
    source: str | None = None  # a file, or a folder with all that is below it
    before: dt.date | None = None  # all that was ingested for earlier dates
    dry_run: bool = False


def run(spark: SparkSession, config: Config) -> RunReport:
    """Forgets, or says what it would.

    Raises:
        UsageError: it is not one thing that is asked for.
    """
    if sum(given is not None for given in (config.document, config.source, config.before)) != 1:
        hint = "give one of --document ID, --source PATH, --before DATE"
        raise UsageError("forget_what", "what is to be forgotten?", hint=hint)
    report = RunReport("forget")
    tables = config.lake.open(spark)
    tables.create(*LAST, "quarantine")
    with report.stage("find"):
        chosen = chosen_documents(tables, config).localCheckpoint()
        dates = dates_of(tables, chosen)
        conditions = refused_records(config)
        found = count_rows(tables, chosen, conditions)
    report.counts = {"documents": found["documents"], "dates": len(dates)} | {
        f"rows of {name}": count for name, count in found.items() if count
    }
    if config.dry_run or not any(found.values()):
        return report
    with report.stage("forget"):
        for name in found:
            if name not in LAST and found[name]:
                remove(tables, name, chosen, conditions)
        if found.get("document_samples"):
            sample_values.estimate(tables, sample_values.Config(lake=config.lake))
        for date in dates:
            recount_deliveries(tables, date)
        forget_examples(tables, chosen)
        report.counts["pages"] = remove_pages(config.lake)
        record(tables, config, report.counts["documents"], found)
        for name in LAST:
            remove(tables, name, chosen, conditions)
    return report


def chosen_documents(tables: Tables, config: Config) -> DataFrame:
    """Returns the ids of the documents that are meant."""
    if config.document is not None:
        return tables.spark.createDataFrame([(config.document,)], "document_id string")
    if config.before is not None:
        is_old = sf.col("ingest_date") < sf.lit(config.before)
        return tables.read("documents").where(is_old).select("document_id")
    places = tables.read("document_sources").where(is_from(str(config.source)))
    return places.select("document_id").distinct()


def is_from(source: str) -> Any:
    """A condition: the source is this file, or a file below this folder."""
    return (sf.col("source") == source) | sf.col("source").startswith(source.rstrip("/") + "/")


def refused_records(config: Config) -> Mapping[str, Any]:
    """Returns conditions of rows that are meant and are no documents, by table."""
    if config.document is not None:
        return {"quarantine": sf.sha2("content", 256) == config.document}
    if config.before is not None:
        is_old = sf.col("ingest_date") < sf.lit(config.before)
        return {"quarantine": is_old, "arrivals": is_old}
    own = is_from(str(config.source))
    return {"quarantine": own, "arrivals": own}


def tables_of_documents() -> list[str]:
    """Returns the tables whose rows name documents, those that say which are meant last.

    >>> tables_of_documents()[-2:]
    ['documents', 'document_sources']
    """
    naming = [name for name in table_names() if "document_id" in contract(name).names and name not in LAST]
    return [*naming, *LAST]


def dates_of(tables: Tables, chosen: DataFrame) -> list[dt.date]:
    """Returns the dates of the documents: what was published for them is counted anew."""
    own = tables.read("documents").join(chosen, "document_id", "left_semi").select("ingest_date").distinct()
    return sorted(row["ingest_date"] for row in read_small(own, MAX_DATES))


def count_rows(tables: Tables, chosen: DataFrame, conditions: Mapping[str, Any]) -> dict[str, int]:
    """Returns how many rows of each table are meant."""
    found = {}
    for name in [*(name for name in conditions if name == "quarantine"), *tables_of_documents()]:
        if tables.exists(name):
            found[name] = meant(tables, name, chosen, conditions).count()
    return found


def meant(tables: Tables, name: str, chosen: DataFrame, conditions: Mapping[str, Any]) -> DataFrame:
    """Returns the keys of the rows of a table that are meant."""
    key = list(contract(name).key)
    rows = tables.read(name)
    parts = []
    if "document_id" in contract(name).names:
        parts.append(rows.join(sf.broadcast(chosen), "document_id", "left_semi").select(*key))
    if name in conditions:
        parts.append(rows.where(conditions[name]).select(*key))
    return reduce(DataFrame.unionByName, parts).distinct()


def remove(tables: Tables, name: str, chosen: DataFrame, conditions: Mapping[str, Any]) -> None:
    tables.delete_keys(name, meant(tables, name, chosen, conditions))


def recount_deliveries(tables: Tables, date: dt.date) -> None:
    """Makes the deliveries of a date what its matches say now."""
    if not tables.exists("deliveries") or not tables.exists("matches"):
        return
    stored = tables.read("deliveries", interval=date)
    newest = read_one(stored.agg(sf.max("staged_version").alias("staged")))["staged"]
    if newest is None:
        return
    version = tables.version("matches")
    matches = tables.read("matches", version=version, interval=date)
    rows = deliveries(matches, date, staged_version=newest, matches_version=version)
    tables.replace_interval("deliveries", rows, date, Transaction(f"deliveries/{date}/forgotten/{uuid.uuid4().hex}"))


def forget_examples(tables: Tables, chosen: DataFrame) -> None:
    """Takes documents out of the messages of audits, which name some as examples."""
    if not tables.exists("quality_results"):
        return
    results = tables.read("quality_results").where(sf.col("message").rlike(_ID))
    named = results.select("*", sf.explode(sf.regexp_extract_all("message", sf.lit(f"({_ID})"))).alias("document_id"))
    key = list(contract("quality_results").key)
    own = named.join(sf.broadcast(chosen), "document_id", "left_semi").select(*key, "match_date").distinct()
    blanked = results.join(own, [*dict.fromkeys([*key, "match_date"])], "left_semi").withColumn(
        "message", sf.regexp_replace("message", _ID, "(forgotten)")
    )
    rows = blanked.select(*contract("quality_results").names).localCheckpoint()
    if read_small(rows.select(*key).limit(1)):
        matched = " AND ".join(f"t.`{name}` = s.`{name}`" for name in dict.fromkeys([*key, "match_date"]))
        tables.merge("quality_results", rows, on=matched, clauses="WHEN MATCHED THEN UPDATE SET *")


def record(tables: Tables, config: Config, documents: int, found: Mapping[str, int]) -> None:
    """Adds the row that says that it was done, and nothing of what was forgotten."""
    now = dt.datetime.now(dt.UTC)
    by = "document" if config.document is not None else "source" if config.source is not None else "before"
    counts = {name: count for name, count in found.items() if count}
    final = now + dt.timedelta(hours=RETENTION_HOURS)
    name = uuid.uuid4().hex
    values = [(name, by, config.before, documents, counts, now, final)]
    rows = tables.spark.createDataFrame(values, contract(RECORD).row_type).coalesce(1)
    tables.append(RECORD, rows, Transaction(f"{RECORD}/{name}"))
