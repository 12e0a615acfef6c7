"""The index that a run has relied on, and what it should say, for the audit."""

from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as sf

from winnow.errors import TransientError
from winnow.jobs.build_index import entries, wanted_branches, with_symbols
from winnow.jobs.index_state import (
    LINE,
    IndexState,
    Join,
    index_state,
    joined_tables,
    newest_join,
    own_rows,
    symbols,
    trees,
)
from winnow.jobs.join_paths import path_branches, route_paths, with_news
from winnow.quality.audited_index import AuditedIndex
from winnow.tables import Tables

MAX_CHECKED_PARTITIONS = 8  # their invariants are looked at node by node: those that changed last


def audited_index(tables: Tables, row: Row) -> AuditedIndex:
    """Returns the index with the frames that its audit compares.

    Raises:
        TransientError: it is being replaced.
    """
    index = index_state(tables)
    join = newest_join(tables, index, joined_tables(tables)) if index else None
    if index is None or join is None:
        raise TransientError("index_moved", "the index was replaced while the run was audited", hint="audit it again")
    by_build = sorted(index.partitions, key=lambda partition: (-partition["build"], partition["partition"]))
    checked = {partition["partition"] for partition in by_build[:MAX_CHECKED_PARTITIONS]}
    nodes = trees(tables, index)
    versions = _versions(index)
    pairs_version = max(row.inputs["path_branches"], join.path_branches_version)
    return AuditedIndex(
        versions=versions,
        nodes=nodes,
        roots=own_rows(tables, LINE, index.table_version),
        checked=tuple(sorted(checked)),
        branches=_branches_of_trees(tables, index, trees(tables, index, checked)),
        wanted=wanted_branches(
            tables.read("profiles", version=index.inputs["profiles"]),
            tables.read("profile_patterns", version=index.inputs["profile_patterns"]),
        ),
        joined=_joined(tables, index, join, nodes, row.inputs),
        stored=_stored(tables, join, nodes, pairs_version, row.inputs),
    )


def _versions(index: IndexState) -> dict[str, int]:
    own = {"envelope_nodes": index.nodes_version, "index_symbols": index.symbols_version}
    return {**own, "index_partitions": index.table_version, "branches": index.inputs["branches"]}


def _branches_of_trees(tables: Tables, index: IndexState, nodes: DataFrame) -> DataFrame:
    """Returns partition, branch_id, build and steps of the branches that trees hold, steps in the index's symbols."""
    held = entries(nodes)
    branches = tables.read("branches", version=index.inputs["branches"])
    rows = held.select("branch_id", "build").withColumn("is_wanted", sf.lit(True))
    steps = with_symbols(rows, branches, symbols(tables, index)).select("branch_id", "steps")
    return held.join(steps, "branch_id").select("partition", "branch_id", "build", "steps")


def _joined(tables: Tables, index: IndexState, join: Join, nodes: DataFrame, inputs: Any) -> DataFrame:
    """Joins the run's paths with the trees anew; only branches that were joined by then count."""
    paths = with_news(tables.read("paths", version=inputs["paths"]), None)
    routed = route_paths(paths, symbols(tables, index), index.partitions, frozenset())
    by_then = entries(nodes).where(sf.col("build") <= join.index_build)
    return path_branches(nodes, routed, 0).join(by_then.select("branch_id"), "branch_id", "left_semi")


def _stored(tables: Tables, join: Join, nodes: DataFrame, version: int, inputs: Any) -> DataFrame:
    by_then = entries(nodes).where(sf.col("build") <= join.index_build).select("branch_id")
    paths = tables.read("paths", version=inputs["paths"]).select("path_id")
    stored = tables.read("path_branches", version=version)
    return stored.join(by_then, "branch_id", "left_semi").join(paths, "path_id", "left_semi")
