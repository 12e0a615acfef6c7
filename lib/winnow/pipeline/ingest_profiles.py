"""Ingest a profile file: the file declares the set, the table follows.

Reads: a CSV or JSONL file, profiles.
Writes: profiles (new versions, changed attributes, retirements), rejected_profiles (this file's rejections).

Ingesting the same file again changes nothing. A changed meaning (xpath, namespaces, ordered) is a new version;
a changed subscriber, destination or validity updates the active version.
"""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from winnow.ingest.profiles import read_profiles
from winnow.lake.contracts import load_contract
from winnow.lake.store import ensure_tables
from winnow.lake.tables import Lake
from winnow.pipeline.progress import Progress
from winnow.pipeline.report import RunReport

MEANING = ("xpath", "namespaces", "ordered")
ATTRIBUTES = ("subscriber", "destination", "valid_from", "valid_to")
OUTCOMES = ("new", "changed", "updated", "revived", "retired")


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    file: str
    retire_missing: bool = False


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("ingest_profiles")
    with report.stage("read"):
        file = read_profiles(config.file)
    lake = Lake(spark, config.lake)
    commit = {"job": "ingest_profiles", "file": config.file}
    with report.stage("write"), Progress(spark, "writing profiles"):
        ensure_tables(config.lake, ("profiles", "rejected_profiles"))
        rejected = spark.createDataFrame(file.rejected)
        with lake.lock("profiles"):
            incoming = spark.createDataFrame(file.profiles)
            steps = to_steps(incoming, rejected, lake.read("profiles"), retire_missing=config.retire_missing).cache()
            outcomes = {row["outcome"]: row["count"] for row in steps.groupBy("outcome").count().collect()}
            if outcomes:
                lake.upsert("profiles", to_profiles(steps), run=commit)
            steps.unpersist()
        with lake.lock("rejected_profiles"):
            of_this_file = F.col("source") == F.lit(str(Path(config.file).absolute()))
            before = lake.read("rejected_profiles").where(of_this_file)
            if not (before.exceptAll(rejected).isEmpty() and rejected.exceptAll(before).isEmpty()):
                lake.upsert("rejected_profiles", rejected, run=commit, delete_missing=of_this_file)
    read = file.profiles.num_rows + file.rejected.num_rows
    changes = {name: outcomes.get(name, 0) for name in OUTCOMES}
    unchanged = file.profiles.num_rows - sum(count for name, count in changes.items() if name != "retired")
    report.counts = {"read": read, **changes, "unchanged": unchanged, "rejected": file.rejected.num_rows}
    for reason in sorted(set(file.rejected.column("reason").to_pylist())):
        report.counts[f"rejected: {reason}"] = file.rejected.column("reason").to_pylist().count(reason)
    report.counts |= {f"ignored field: {name}": rows for name, rows in sorted(file.ignored_fields.items())}
    return report


def to_steps(incoming: DataFrame, rejected: DataFrame, profiles: DataFrame, *, retire_missing: bool) -> DataFrame:
    """One row per profile that must change: the file's values, the newest stored version `old`, and the outcome."""
    newest = F.row_number().over(Window.partitionBy("profile_id").orderBy(F.desc("profile_version")))
    stored = profiles.withColumn("nth", newest).where("nth = 1").drop("nth")
    old = stored.select("profile_id", F.struct(*(c for c in stored.columns if c != "profile_id")).alias("old"))
    # A row that is in the file but was rejected is not missing: its stored version stays active.
    present = rejected.where("profile_id is not null").select("profile_id", F.lit(True).alias("present")).distinct()
    joined = incoming.withColumn("given", F.lit(True)).join(old, on="profile_id", how="full_outer")
    joined = joined.join(present, on="profile_id", how="left")
    same_meaning = (
        F.col("xpath").eqNullSafe(F.col("old.xpath"))
        & F.col("ordered").eqNullSafe(F.col("old.ordered"))
        & _entries("namespaces").eqNullSafe(_entries("old.namespaces"))
    )
    same_attributes = F.lit(True)
    for name in ATTRIBUTES:
        same_attributes &= F.col(name).eqNullSafe(F.col(f"old.{name}"))
    missing = F.col("given").isNull() & F.col("present").isNull() & (F.col("old.state") == "active")
    outcome = (
        F.when(F.col("given").isNull(), F.when(missing & F.lit(retire_missing), "retired"))
        .when(F.col("old").isNull(), "new")
        .when(~same_meaning, "changed")
        .when(F.col("old.state") != "active", "revived")
        .when(~same_attributes, "updated")
    )
    return joined.withColumn("outcome", outcome).where("outcome is not null")


def to_profiles(steps: DataFrame) -> DataFrame:
    """The rows to upsert by (profile_id, profile_version)."""
    version = F.coalesce(F.col("old.profile_version"), F.lit(0)) + F.col("outcome").isin("new", "changed").cast("int")
    current = (
        steps.where("outcome <> 'retired'").withColumn("profile_version", version).withColumn("state", F.lit("active"))
    )
    ended = steps.where("outcome in ('changed', 'retired')").select(
        "profile_id",
        "old.*",
        F.when(F.col("outcome") == "retired", "retired").otherwise("superseded").alias("ended"),
    )
    ended = ended.withColumn("state", F.col("ended"))
    names = load_contract("profiles").names
    return current.select(*names).unionByName(ended.select(*names))


def _entries(name: str) -> Column:
    """Maps have no equality in Spark; their sorted entries do."""
    return F.array_sort(F.map_entries(F.col(name)))
