"""Join distinct paths with distinct branches: every pair is asked once.

Reads:  paths; the index: index_partitions, index_symbols, envelope_nodes
Writes: path_branches; path_joins, which says how far the join has come

New paths meet all branches, and the branches of later builds meet all paths. An index partition is read only if its
root envelope lets such a path through. A pair that is there already, since a join was killed before it said how far it
came or since a branch left and came back, is not added again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.errors import DataError, TransientError
from winnow.jobs.index_state import (
    MAX_PARTITIONS,
    IndexState,
    Join,
    JoinedTables,
    covering_join,
    index_state,
    is_lost,
    joined_tables,
    newest_join,
    symbols,
    trees,
)
from winnow.jobs.report import RunReport
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_one, read_small

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("path_branches", "path_joins")
_UNKNOWN_LABEL = 2**31 - 1  # a symbol that no branch names: only wildcards take it
_ROUTED_TYPE = "partition int, path_id long, is_new boolean, symbols array<int>"
_PAIRS_TYPE = contract("path_branches").row_type
_ROOT_COLUMNS = ("partition", "shortest", "longest", "top", "must", "may", "low", "high", "adjacent")
_TREE_COLUMNS = [name for name in contract("envelope_nodes").names if name not in ("index_version", "build_id")]


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    run_id: str


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("join_paths")
    tables = config.lake.open(spark)
    tables.create(*TABLES)
    with report.stage("plan"):
        index = index_state(tables)
        if index is None:
            raise DataError("index_missing", "there is no index to join with", hint="run build_index first")
        version = tables.version("paths")
        ids = joined_tables(tables)
        joined = newest_join(tables, index, ids)
        report.counts = {"partitions": len(index.partitions), "partitions read": 0, "pairs routed": 0}
        report.counts["new path branches"] = 0
        if joined and joined[:3] == (index.build, index.inputs["profiles"], version):
            return report.nothing_to_do()
        paths, counts = _paths(tables, version, joined)
        report.counts = {"paths": counts["all"], "new paths": counts["new"], **report.counts}
        joined_build = joined.index_build if joined else 0
        new_branches = _partitions_with_new_branches(tables, index, joined_build)
        routed = route_paths(paths, symbols(tables, index), index.partitions, new_branches)
        reached = _reached(routed) if counts["new"] or new_branches else {}
    with report.stage("join"):
        if reached:
            found = path_branches(trees(tables, index, reached), routed, joined_build)
            report.counts |= {"partitions read": len(reached), "pairs routed": sum(reached.values())}
            report.counts["new path branches"] = tables.append_new("path_branches", found)
    with report.stage("commit"):
        _say_joined(tables, index, ids, version)
    return report


def require_joined(
    tables: Tables, *, paths_version: int | None = None, profiles_version: int | None = None
) -> tuple[IndexState, Join]:
    """Returns the index and the join, if they cover these versions of `paths` and `profiles`, by default the newest.

    Whoever relies on it reads path_branches at the join's `path_branches_version` or later.

    Raises:
        DataError: some path has not met some branch of an active profile, so answers would be missing.
        TransientError: the index is that of newer profiles already.
    """
    index = index_state(tables)
    if index is None:
        raise DataError("index_missing", f"there is no index in {tables.lake.location}", hint="run build_index first")
    paths = tables.version("paths") if paths_version is None else paths_version
    profiles = tables.version("profiles") if profiles_version is None else profiles_version
    ids = joined_tables(tables) if tables.exists("path_branches") else None
    if ids and (join := covering_join(tables, index, ids, paths_version=paths, profiles_version=profiles)):
        return index, join
    asked = f"asked are version {paths} of paths and version {profiles} of profiles: answers would be missing"
    built = index.inputs["profiles"]
    if built > profiles:
        raise TransientError(
            "index_moved", f"the index is that of version {built} of profiles, {asked}", hint="plan the run again"
        )
    if built < profiles:
        raise DataError(
            "index_stale",
            f"the index is that of version {built} of profiles, {asked}",
            hint="run build_index and join_paths first",
        )
    newest = newest_join(tables, index, ids) if ids else None
    joined = f"version {newest.paths_version} of paths and build {newest.index_build}" if newest else "nothing"
    raise DataError(
        "join_stale", f"of the index (build {index.build}) {joined} were joined, {asked}", hint="run join_paths first"
    )


def with_news(paths: DataFrame, joined: DataFrame | None) -> DataFrame:
    """Gives paths the column is_new: they are not among those that were joined."""
    if joined is None:
        return paths.withColumn("is_new", sf.lit(True))
    known = joined.select("path_id", sf.lit(True).alias("known"))
    return paths.join(known, "path_id", "left").withColumn("is_new", sf.col("known").isNull()).drop("known")


def route_paths(
    paths: DataFrame, numbers: DataFrame, roots: Sequence[Mapping[str, Any]], with_new_branches: Set[int]
) -> DataFrame:
    """Returns partition, path_id, is_new and symbols: each path as often as there are partitions to meet it.

    All paths pass through one task, since each is known by the labels above it; there are few, and none is alike.
    """
    is_attribute = sf.col("label").startswith("@")
    number = sf.coalesce("symbol", sf.lit(_UNKNOWN_LABEL))
    numbered = paths.join(numbers, "label", "left").withColumn(
        "symbol", sf.when(is_attribute, -number).otherwise(number)
    )
    envelopes = [{name: root[name] for name in _ROOT_COLUMNS} for root in roots]
    route = partial(_route_paths, roots=envelopes, with_new_branches=frozenset(with_new_branches))
    steps = numbered.select("path_id", "parent_id", "depth", "symbol", "is_new").repartition(1)
    routed: DataFrame = steps.mapInArrow(route, _ROUTED_TYPE)
    return routed


def path_branches(nodes: DataFrame, routed: DataFrame, joined_build: int) -> DataFrame:
    """Returns the branches of these trees that the paths routed to them have, without pairs that were asked before."""
    join = partial(_join_partition, joined_build=joined_build)
    return (
        nodes.select(*_TREE_COLUMNS)
        .groupBy("partition")
        .cogroup(routed.groupBy("partition"))
        .applyInArrow(join, _PAIRS_TYPE)
        .select(*contract("path_branches").names)
    )


def _paths(tables: Tables, version: int, joined: Join | None) -> tuple[DataFrame, dict[str, int]]:
    """All paths with is_new, and how many there are; all are new where the joined ones cannot be read any more."""
    paths = tables.read("paths", version=version)
    counts = (sf.count("*").alias("all"), sf.count_if("is_new").alias("new"))
    if joined:
        try:
            flagged = with_news(paths, tables.read("paths", version=joined.paths_version))
            return flagged, read_one(flagged.agg(*counts))
        except Exception as error:
            if not is_lost(error):
                raise
    flagged = with_news(paths, None)
    return flagged, read_one(flagged.agg(*counts))


def _partitions_with_new_branches(tables: Tables, index: IndexState, joined_build: int) -> set[int]:
    if not joined_build:
        return set()  # nor are there paths that are not new
    changed = {row["partition"] for row in index.partitions if row["build"] > joined_build}
    if not changed:
        return set()
    added = trees(tables, index, changed).where(sf.col("build") > joined_build).select("partition").distinct()
    return {row["partition"] for row in read_small(added, MAX_PARTITIONS)}


def _reached(routed: DataFrame) -> dict[int, int]:
    """Returns the partitions that some path is to meet, with how many are."""
    counted = routed.groupBy("partition").agg(sf.count("*").alias("paths"))
    return {row["partition"]: row["paths"] for row in read_small(counted, MAX_PARTITIONS)}


def _say_joined(tables: Tables, index: IndexState, ids: JoinedTables, paths_version: int) -> None:
    row = {
        "index_id": index.index_id,
        "index_build": index.build,
        "index_version": index.version,
        "profiles_version": index.inputs["profiles"],
        "paths_version": paths_version,
        **ids._asdict(),
        "path_branches_version": tables.version("path_branches"),
    }
    wanted = contract("path_joins")
    rows = tables.spark.createDataFrame([tuple(row[name] for name in wanted.names)], wanted.row_type)
    name = "/".join(str(row[column]) for column in wanted.key)
    tables.append("path_joins", rows, Transaction(f"path_joins/{name}"))


def _route_paths(
    batches: "Iterable[pa.RecordBatch]", *, roots: list[dict[str, Any]], with_new_branches: Set[int]
) -> "Iterator[pa.RecordBatch]":
    from winnow.index.join_tasks import route_paths

    return route_paths(batches, roots=roots, with_new_branches=with_new_branches)


def _join_partition(tree: "pa.Table", paths: "pa.Table", *, joined_build: int) -> "pa.Table":
    from winnow.index.join_tasks import join_partition

    return join_partition(tree, paths, joined_build=joined_build)
