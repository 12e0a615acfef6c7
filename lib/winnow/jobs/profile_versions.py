"""What a profile file changes in the table of profiles: DataFrames in, DataFrames out."""

from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from winnow.errors import DataError
from winnow.tables import contract
from winnow.tables.small import read_small

MEANING = ("xpath", "namespaces", "ordered", "xpath_id")
ATTRIBUTES = ("subscriber", "destination", "valid_from", "valid_to")
VERDICT = ("class", "reason", "column", "message")
PLACE = ("row_number", "raw")
VERSION = ("profile_id", "profile_version")
STARTS_VERSION = ("new", "changed", "revived")
ADDS_ROWS_ONLY = {"new", "revived"}
PLAN_IS_OLD = "profiles have changed since this was planned"


class Declared(NamedTuple):
    """What a file says: its profiles with the language's verdict, the rows that are none, and what is missing."""

    rows: DataFrame
    unreadable: DataFrame
    missing: str | None  # the outcome of active profiles that the file does not hold


def outcomes(declared: Declared, stored: DataFrame) -> DataFrame:
    """Returns what becomes of each profile that is not as declared: `given` by the file, `old` in the table, `outcome`.

    A row that is in the file but was rejected is not missing: its stored version stays active.
    """
    latest_first = Window.partitionBy("profile_id").orderBy(sf.desc("profile_version"))
    newest = stored.withColumn("place", sf.row_number().over(latest_first)).where("place = 1").drop("place")
    given = declared.rows.select("profile_id", sf.struct(*MEANING, *ATTRIBUTES, *VERDICT, *PLACE).alias("given"))
    known = newest.select("profile_id", sf.struct(*contract("profiles").names).alias("old"))
    broken = declared.unreadable.groupBy("profile_id").agg(sf.lit(True).alias("is_broken"))
    is_missing = sf.col("is_broken").isNull() & (sf.col("old.state") == "active")
    outcome = (
        sf.when(sf.col("given").isNull(), sf.when(is_missing, sf.lit(declared.missing)))
        .when(sf.col("given.class") == "rejected", "rejected")
        .when(sf.col("old").isNull(), "new")
        .when(sf.col("given.xpath_id") != sf.col("old.xpath_id"), "changed")
        .when(sf.col("old.state") != "active", "revived")
        .when(~_attributes("given").eqNullSafe(_attributes("old")), "updated")
    )
    return (
        given.join(known, "profile_id", "full")
        .join(broken, "profile_id", "left")
        .select("profile_id", "given", "old", outcome.alias("outcome"))
        .where("outcome IS NOT NULL")
    )


def _attributes(struct: str) -> Column:
    return sf.struct(*(sf.col(f"{struct}.{name}").alias(name) for name in ATTRIBUTES))


def changed_versions(steps: DataFrame, revision: int) -> DataFrame:
    """Returns the versions that are active after this revision, and those that it ends."""
    starts = sf.col("outcome").isin(*STARTS_VERSION)
    this = sf.lit(revision).cast("long")
    version = (sf.coalesce("old.profile_version", sf.lit(0)) + starts.cast("int")).cast("int")
    active = {
        **{name: sf.col(f"given.{name}") for name in (*MEANING, *ATTRIBUTES)},
        "profile_key": profile_key(sf.col("profile_id"), version),
        "profile_id": sf.col("profile_id"),
        "profile_version": version,
        "state": sf.lit("active"),
        "since": sf.when(starts, this).otherwise(sf.col("old.since")),
        "changed": this,
        "until": sf.lit(None).cast("long"),
    }
    ended = {
        **{name: sf.col(f"old.{name}") for name in contract("profiles").names},
        "state": sf.when(sf.col("outcome") == "changed", "superseded").otherwise(sf.lit("retired")),
        "until": this,
    }
    is_ended = (sf.col("old.state") == "active") & sf.col("outcome").isin("changed", "retired")
    is_given = sf.col("outcome").isin(*STARTS_VERSION, "updated")
    rows = sf.array(sf.when(is_given, _profile_row(active)), sf.when(is_ended, _profile_row(ended)))
    return steps.select(sf.inline(sf.array_compact(rows))).select(*contract("profiles").names)


def _profile_row(columns: dict[str, Column]) -> Column:
    return sf.struct(*(columns[name].alias(name) for name in contract("profiles").names))


def profile_key(profile_id: Column, profile_version: Column) -> Column:
    """The number that stands for a version of a profile in staged answers."""
    return sf.xxhash64(profile_id, profile_version)


def require_distinct_keys(stored: DataFrame, changes: DataFrame) -> None:
    """Staged answers name a profile by its key: two with one key would get each other's matches.

    Raises:
        DataError: two profiles have one key.
    """
    started = changes.where("until IS NULL AND since = changed")  # the others are stored under their keys
    keys = stored.select("profile_key").union(started.select("profile_key"))
    for clash in read_small(keys.groupBy("profile_key").count().where("count > 1").limit(1)):
        versions = stored.unionByName(started).where(sf.col("profile_key") == clash.profile_key).orderBy(*VERSION)
        names = [f"{row.profile_id!r} version {row.profile_version}" for row in read_small(versions)]
        raise DataError(
            "profile_key_conflict",
            f"profiles {' and '.join(names)} have the same key {clash.profile_key}: matches could not tell them apart",
            hint="give one of them another profile_id; nothing was written",
        )


def unless_changed(changes: DataFrame, newest: DataFrame, revision: int) -> DataFrame:
    """Returns the changes, and fails where they are written if `newest` is of this revision or a later one by then.

    A MERGE reads its own table in its own transaction. So what was planned is written only to what it was planned on,
    and a revision is always later than all that another reader can have seen.
    """
    last = newest.agg(sf.max(sf.greatest("since", "changed", "until")).alias("last"))
    is_unchanged = sf.when(sf.coalesce("last", sf.lit(0)) < revision, True).otherwise(
        sf.raise_error(sf.lit(PLAN_IS_OLD)).cast("boolean")
    )
    return changes.crossJoin(sf.broadcast(last.where(is_unchanged))).drop("last")
