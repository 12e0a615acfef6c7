"""New profiles over history: the dates that have documents, those that wait, and what a backfill would look at.

The work itself is `winnow.jobs.run` over a range: the ledger knows up to which revision of the profiles each batch was
asked, and only documents with a path that the new profiles name are looked at.
"""

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from winnow.jobs import match_documents, run
from winnow.ledger import Run, newest_published, required_on
from winnow.tables import Lake
from winnow.tables.small import read_one, read_small

MAX_DATES = 100_000  # three centuries


@dataclass(frozen=True)
class Estimate:
    """What is still to be asked of a date."""

    date: dt.date
    documents: int
    profiles: int
    pairs: int


def known_dates(spark: SparkSession, lake: Lake) -> tuple[dt.date, ...]:
    """Returns the dates that have documents."""
    return tuple(sorted(_documents_by_date(spark, lake)))


def pending_dates(spark: SparkSession, lake: Lake) -> tuple[dt.date, ...]:
    """Returns the dates with documents that no publication has answered: what a paused consumer catches up with."""
    tables = lake.open(spark)
    documents = _documents_by_date(spark, lake)
    answered: dict[dt.date, int] = {}
    if tables.exists("runs"):
        names = ("run_id", "match_date", "outcome", "base_run", "batches", "revision", "only", "documents")
        by_date: dict[dt.date, list[dict[str, object]]] = {}
        for row in read_small(tables.read("runs").select(*names), MAX_DATES):
            by_date.setdefault(row["match_date"], []).append(row.asDict())
        for date, rows in by_date.items():
            ledger = newest_published(map(Run.of, rows))
            count = next((row["documents"] for row in rows if ledger and row["run_id"] == ledger.run_id), 0)
            answered[date] = int(str(count)) if ledger and ledger.only is None else 0
    return tuple(sorted(date for date, count in documents.items() if answered.get(date, 0) < count))


def estimate(spark: SparkSession, config: match_documents.Config) -> Iterator[Estimate]:
    """Yields what is still to be asked of each date. Profiles are encoded for it; nothing is staged or published."""
    for _ in run.prepare(spark, run.Config(lake=config.lake, dates=(), run_id=config.run_id)):
        pass
    tables = config.lake.open(spark)
    tables.create("runs", "encoded_documents")
    versions = tables.versions("encoded_documents", "profiles")
    profiles = tables.read("profiles", version=versions["profiles"])
    revision = match_documents.newest_revision(profiles)
    for date in config.dates:
        plan = match_documents.plan(tables, date, versions, revision, config)
        required = profiles.where(required_on(date))
        if config.only is not None:
            required = required.where(sf.col("profile_id").rlike(match_documents.glob_pattern(config.only)))
        since = -1 if plan.asked_since is None else plan.asked_since
        is_new = f"since > {since} OR changed > {since}"
        counts = read_one(required.agg(sf.count("*").alias("all"), sf.count_if(sf.expr(is_new)).alias("new")))
        encoded = tables.read("encoded_documents", version=versions["encoded_documents"], interval=date)
        new = encoded.where(sf.col("batch").isin(list(plan.new_batches))).count() if plan.new_batches else 0
        old = plan.documents - new if plan.asked_since is not None else 0
        asked = counts["all"] if new else counts["new"] if old else 0
        yield Estimate(date, new + old, asked, new * counts["all"] + old * counts["new"])


def _documents_by_date(spark: SparkSession, lake: Lake) -> dict[dt.date, int]:
    tables = lake.open(spark)
    if not tables.exists("documents"):
        return {}
    counted = tables.read("documents").groupBy("ingest_date").count()
    return {row["ingest_date"]: row["count"] for row in read_small(counted, MAX_DATES)}
