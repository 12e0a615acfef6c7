"""Publish the staged answers of one run for one data interval.

Reads:  runs, matches_staged, profiles, document_sources, matches
Writes: matches; undecided and deliveries, derived from it; runs, last

One commit makes the interval's matches what the run says. It carries the publication that the run was planned on, so
of two runs that were planned on the same one only the first is published; the other is refused, since it would lose
what the first has brought. The row of `runs` says so last, and is finished by the next run if this one is killed.
"""

import datetime as dt
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from winnow.errors import DataError, TransientError
from winnow.jobs.report import RunReport
from winnow.ledger import Mode, Outcome, Run, newest_published, required_on, unfinished
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_one, read_small

TABLES = ("matches", "undecided", "deliveries", "runs", "matches_staged")


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    date: dt.date
    run_id: str
    audited: bool = False  # refuse what the quality gate has not let through


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("publish_matches")
    tables = config.lake.open(spark)
    tables.create(*TABLES)
    with report.stage("publish"):
        row = staged_run(tables, config.date, config.run_id)
        if row.outcome == Outcome.PUBLISHED:
            return report
        if config.audited:
            require_audit(tables, row)
        report.counts |= publish(tables, row)
    return report


def staged_run(tables: Tables, date: dt.date, run_id: str) -> Row:
    """Returns the row of a run and interval.

    Raises:
        DataError: the run has staged nothing for this interval.
    """
    found = [row for row in _rows(tables, date) if row.run_id == run_id]
    if not found:
        raise DataError("nothing_staged", f"run {run_id} has staged nothing for {date}", hint="match the date first")
    return found[0]


def publish(tables: Tables, row: Row) -> dict[str, int]:
    """Makes the staged answers public; refused when the interval has moved since they were planned."""
    date = row.match_date
    newest = newest_published(_runs(tables, date))
    if (newest.run_id if newest else None) != row.base_run:
        raise _moved(date)
    new = published(tables, row)
    after = Transaction(f"matches/{date}/after/{row.base_run}")
    if row.mode == Mode.APPEND:
        tables.append("matches", new, after)
    elif row.mode == Mode.REPLACE:
        tables.replace_interval("matches", new, date, after)
    else:
        tables.replace_interval("matches", still_required(tables, row, new).unionByName(new), date, after)
    return finish(tables, row)


def finish(tables: Tables, row: Row) -> dict[str, int]:
    """Writes what follows from the commit of the matches, and then that the run is published."""
    date, version = row.match_date, tables.version("matches")
    own = tables.read("matches", version=version, interval=date).where(sf.col("run_id") == row.run_id)
    stage = _stage(tables, row)
    told = read_one(
        stage.agg(
            sf.coalesce(sf.sum(sf.size("profiles")), sf.lit(0)).alias("staged"),
            sf.coalesce(sf.sum(sf.size("undecided")), sf.lit(0)).alias("undecided"),
        )
    )
    count = own.count()
    if count != told["staged"]:  # the commit was skipped: another run's carried the same transaction
        raise _moved(date)
    _write_undecided(tables, row, stage, told["undecided"])
    publication = Transaction(f"deliveries/{date}/{row.run_id}")
    brought = own if row.mode == Mode.APPEND else tables.read("matches", version=version, interval=date)
    sent = deliveries(brought, date, staged_version=row.staged_version, matches_version=version)
    if row.mode == Mode.APPEND:
        tables.append("deliveries", sent, publication)
    else:
        tables.replace_interval("deliveries", sent, date, publication)
    published_row = {
        **row.asDict(),
        "outcome": Outcome.PUBLISHED.value,
        "published_version": version,
        "published_at": dt.datetime.now(dt.UTC),
    }
    changed = tables.spark.createDataFrame([published_row], contract("runs").row_type)
    same = "t.run_id = s.run_id AND t.match_date = s.match_date"
    tables.merge("runs", changed, on=same, clauses="WHEN MATCHED AND t.outcome = 'staged' THEN UPDATE SET *")
    return {"published": count, "undecided": told["undecided"], "matches version": version}


def finish_publications(tables: Tables, date: dt.date) -> None:
    """Finishes what a publication of the interval has begun before it was killed."""
    if not tables.exists("matches"):
        return
    for run in unfinished(_runs(tables, date)):
        row = staged_run(tables, date, run.run_id)
        own = tables.read("matches", interval=date).where(sf.col("run_id") == run.run_id)
        if not own.isEmpty():
            finish(tables, row)
            return


def published(tables: Tables, row: Row) -> DataFrame:
    """Returns the staged answers as people read them."""
    profiles = tables.read("profiles", version=row.inputs["profiles"])
    sources = tables.read("document_sources", interval=row.match_date)
    return expand(_stage(tables, row), profiles, first_sources(sources))


def expand(stage: DataFrame, profiles: DataFrame, sources: DataFrame) -> DataFrame:
    """Returns one row for each pair of document and profile; writing it fails where a document has no place."""
    columns = ("document_id", "source", "run_id", "match_date")
    placed = stage.join(sources, "document_id", "left")  # before there is a row for each pair
    pairs = placed.select(*columns, sf.explode(sf.arrays_zip("profiles", "witnesses")).alias("pair"))
    about = profiles.select("profile_key", "profile_id", "profile_version", "subscriber", "destination")
    placeless = sf.concat(sf.lit("document "), "document_id", sf.lit(" has no place in document_sources"))
    return (
        pairs.select(*columns, sf.col("pair.profiles").alias("profile_key"), sf.col("pair.witnesses").alias("witness"))
        .join(sf.broadcast(about), "profile_key")
        .withColumn("source", sf.coalesce("source", sf.raise_error(placeless)))
        .select(*contract("matches").names)
    )


def first_sources(sources: DataFrame) -> DataFrame:
    """Returns the first place of each document: `file`, `file!member` or `file#record`."""
    member = sf.when(sf.col("member") == "", "").otherwise(sf.concat(sf.lit("!"), "member"))
    record = sf.when(sf.col("record") == 0, "").otherwise(sf.concat(sf.lit("#"), "record"))
    return sources.groupBy("document_id").agg(sf.min(sf.concat("source", member, record)).alias("source"))


def still_required(tables: Tables, row: Row, new: DataFrame) -> DataFrame:
    """Returns published rows of profiles that were not asked again, with their subscribers and destinations of now."""
    required = required_on(row.match_date)
    if row.asked_since is not None:
        required += f" AND since <= {row.asked_since} AND changed <= {row.asked_since}"
    profiles = tables.read("profiles", version=row.inputs["profiles"]).where(required)
    about = profiles.select("profile_id", "profile_version", "subscriber", "destination")
    return (
        tables.read("matches", interval=row.match_date)
        .drop("subscriber", "destination")
        .join(sf.broadcast(about), ["profile_id", "profile_version"])
        .join(new.select("document_id", "profile_id"), ["document_id", "profile_id"], "left_anti")
        .select(*contract("matches").names)
    )


def undecided(stage: DataFrame, profiles: DataFrame) -> DataFrame:
    """Returns the pairs of the stage that were given up."""
    about = profiles.select("profile_key", "profile_id", "profile_version")
    return (
        stage.select("document_id", "run_id", "match_date", sf.explode("undecided").alias("pair"))
        .select("document_id", "run_id", "match_date", "pair.*")
        .join(about, "profile_key")
        .select(*contract("undecided").names)
    )


def deliveries(matches: DataFrame, date: dt.date, *, staged_version: int, matches_version: int) -> DataFrame:
    """Returns what a publication brings to each destination."""
    return (
        matches.where("destination IS NOT NULL")
        .groupBy("destination")
        .agg(sf.count_distinct("document_id").alias("documents"), sf.count("*").alias("matches"))
        .withColumn("staged_version", sf.lit(staged_version).cast("long"))
        .withColumn("matches_version", sf.lit(matches_version).cast("long"))
        .withColumn("match_date", sf.lit(date))
        .select(*contract("deliveries").names)
    )


def require_audit(tables: Tables, row: Row) -> None:
    """What is published is the very version that passed.

    Raises:
        DataError: it failed, or it was never audited.
    """
    tables.create("quality_results")
    results = tables.read("quality_results", interval=row.match_date)
    own = read_small(results.where((sf.col("staged_version") == row.staged_version) & (sf.col("run_id") == row.run_id)))
    failed = sorted(result.check for result in own if result.severity == "critical" and not result.success)
    if failed or not own:
        what = f"failed {', '.join(failed)}" if failed else "was never audited"
        hint = "see quality_results; mend the cause, then match again" if failed else "run `winnow audit` first"
        raise DataError("gate_failed", f"run {row.run_id} for {row.match_date} {what}", hint=hint)


def _write_undecided(tables: Tables, row: Row, stage: DataFrame, count: int) -> None:
    """Pairs of profiles that are still asked stay; the new ones come to them."""
    known = tables.read("undecided", interval=row.match_date)
    if not count and (row.mode == Mode.APPEND or known.isEmpty()):
        return
    profiles = tables.read("profiles", version=row.inputs["profiles"])
    rows = undecided(stage, profiles)
    if row.mode == Mode.REWRITE:
        active = profiles.where("state = 'active'").select("profile_id", "profile_version")
        pair = ["document_id", "profile_id"]
        kept = known.join(active, ["profile_id", "profile_version"], "left_semi").join(rows, pair, "left_anti")
        rows = rows.unionByName(kept.select(*contract("undecided").names))
    publication = Transaction(f"undecided/{row.match_date}/{row.run_id}")
    if row.mode == Mode.APPEND:
        tables.append("undecided", rows, publication)
    else:
        tables.replace_interval("undecided", rows, row.match_date, publication)


def _stage(tables: Tables, row: Row) -> DataFrame:
    stage = tables.read("matches_staged", version=row.staged_version, interval=row.match_date)
    return stage.where(sf.col("run_id") == row.run_id)


def _rows(tables: Tables, date: dt.date) -> list[Row]:
    return read_small(tables.read("runs").where(sf.col("match_date") == sf.lit(date)))


def _runs(tables: Tables, date: dt.date) -> list[Run]:
    return [Run.of(row.asDict()) for row in _rows(tables, date)]


def _moved(date: dt.date) -> TransientError:
    return TransientError(
        "interval_moved",
        f"another run has published {date} since this one was planned",
        hint="run it again: it will ask only what is still open",
    )
