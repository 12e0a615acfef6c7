"""New profiles over history: the dates that have documents, those that wait, and what a backfill would look at.

The work itself is `winnow.jobs.run` over a range: the ledger knows up to which revision of the profiles each batch was
asked, and only documents with a path that the new profiles name are looked at.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as sf

from winnow.jobs import match_documents, run
from winnow.ledger import Change, Run, newest_published, required_on
from winnow.tables import Lake, Tables
from winnow.tables.small import read_one, read_small

MAX_DATES = 100_000  # three centuries


@dataclass(frozen=True)
class Estimate:
    """What is still to be asked of a date."""

    date: dt.date
    documents: int
    profiles: int
    pairs: int


@dataclass(frozen=True)
class OpenDate:
    """A date on which something is to be done, and what."""

    date: dt.date
    documents: int
    unanswered: int  # documents that no publication has answered
    new_profiles: int  # since the newest publication
    withdrawn_profiles: int


def known_dates(spark: SparkSession, lake: Lake) -> tuple[dt.date, ...]:
    """Returns the dates that have documents."""
    return tuple(sorted(_documents_by_date(spark, lake)))


def pending_dates(spark: SparkSession, lake: Lake) -> tuple[dt.date, ...]:
    """Returns the dates with documents that no publication has answered: what a paused consumer catches up with."""
    documents, ledgers = _documents_by_date(spark, lake), _ledgers(lake.open(spark))
    return tuple(date for date, count in sorted(documents.items()) if count > ledgers.get(date, (None, 0))[1])


def open_dates(
    spark: SparkSession, lake: Lake, named: tuple[dt.date, ...], *, pending: bool, again: bool
) -> Iterator[OpenDate]:
    """Yields the named dates that have something to do, and with `pending` all that have unanswered documents.

    A named date is also open where the profiles have changed since it was published; with `again` wherever it has
    documents.
    """
    documents, tables = _documents_by_date(spark, lake), lake.open(spark)
    ledgers = _ledgers(tables)
    profiles = tables.read("profiles") if tables.exists("profiles") else None
    for date in sorted(documents if pending else documents.keys() & set(named)):
        ledger, answered = ledgers.get(date, (None, 0))
        unanswered = max(documents[date] - answered, 0)
        change = Change(0, 0)
        if date in named and ledger and profiles is not None:
            change = match_documents.change_since(profiles, date, ledger.revision)
        if unanswered or change.added or change.withdrawn or (again and date in named):
            yield OpenDate(date, documents[date], unanswered, change.added, change.withdrawn)


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


def _ledgers(tables: Tables) -> dict[dt.date, tuple[Run, int]]:
    """Returns the newest publication of each date that has one, and how many documents were asked every profile."""
    if not tables.exists("runs"):
        return {}
    names = ("run_id", "match_date", "outcome", "base_run", "batches", "revision", "only", "documents")
    by_date: dict[dt.date, list[Row]] = {}
    for row in read_small(tables.read("runs").select(*names), MAX_DATES):
        by_date.setdefault(row["match_date"], []).append(row)
    found = {}
    for date, rows in by_date.items():
        if newest := newest_published(Run.of(row.asDict()) for row in rows):
            found[date] = newest, _answered(newest.run_id, {row["run_id"]: row for row in rows})
    return found


def _answered(run_id: str | None, rows: Mapping[str, Row]) -> int:
    """Returns the documents of a publication, or, where it was about some profiles only, of the one before it."""
    row = rows.get(run_id or "")
    if row is None:
        return 0
    return int(row["documents"]) if row["only"] is None else _answered(row["base_run"], rows)
