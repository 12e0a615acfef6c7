"""The index that a run has relied on, and what can be said of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from winnow.quality.counting import found
from winnow.quality.finding import Finding

if TYPE_CHECKING:
    import pyarrow as pa

_PROBLEM = "problem string"
_ENVELOPE = ("shortest", "longest", "top", "must", "may", "low", "high", "adjacent", "parameters")
_PAIR = ("path_id", "text", "branch_id")


@dataclass(frozen=True, kw_only=True)
class AuditedIndex:
    """Frames of an index: rows of envelope_nodes and of index_partitions, and what they should say.

    `checked` are the partitions whose nodes are looked at one by one. `branches` has partition, branch_id, build and
    steps: the branches that these hold, their steps in the index's symbols. `wanted` has branch_id: those that some
    active profile has. `joined` are the pairs of path and branch that the trees find anew, and `stored` those of
    path_branches, both of the run's paths and the branches joined by then.
    """

    versions: Mapping[str, int]
    nodes: DataFrame
    roots: DataFrame
    checked: tuple[int, ...]
    branches: DataFrame
    wanted: DataFrame
    joined: DataFrame
    stored: DataFrame


def unsound_trees(index: AuditedIndex) -> Finding:
    """Counts violations of the trees' invariants, and branches that are not as their steps are."""
    trees = index.nodes.where(sf.col("partition").isin(list(index.checked))).drop("index_version", "build_id")
    branches = index.branches
    problems = (
        trees.groupBy("partition").cogroup(branches.groupBy("partition")).applyInArrow(_check_partition, _PROBLEM)
    )
    return found(problems, sf.col("problem"))


def unlike_roots(index: AuditedIndex) -> Finding:
    """Counts partitions whose row in index_partitions does not say what the root of their tree says."""
    roots = index.nodes.where("node_id = 0").select("partition", sf.struct(*_ENVELOPE).alias("root"))
    held = index.nodes.where("level = 0").groupBy("partition").agg(sf.count("*").cast("int").alias("held"))
    told = index.roots.select("partition", "branches", sf.struct(*_ENVELOPE).alias("told"))
    both = told.join(roots, "partition", "full").join(held, "partition", "left")
    wrong = both.where("NOT (root <=> told) OR coalesce(held, 0) <> coalesce(branches, 0)")
    return found(wrong, sf.concat(sf.lit("partition "), "partition"))


def misplaced_branches(index: AuditedIndex) -> Finding:
    """Counts branches that are not once in the index though a profile has them, or are there though none has."""
    held = index.nodes.where("level = 0").select("branch_id", sf.lit(1).alias("held"), sf.lit(0).alias("wanted"))
    wanted = index.wanted.select("branch_id", sf.lit(0).alias("held"), sf.lit(1).alias("wanted"))
    by_branch = (
        held.unionByName(wanted)
        .groupBy("branch_id")
        .agg(sf.sum("held").alias("held"), sf.sum("wanted").alias("wanted"))
    )
    words = sf.concat(
        sf.lit("branch_id "), "branch_id", sf.lit(" is there "), "held", sf.lit(" times, wanted "), "wanted"
    )
    return found(by_branch.where("held <> wanted"), words)


def wrong_joins(index: AuditedIndex) -> Finding:
    """Counts pairs of path and branch that the trees find and path_branches does not have, or the other way round."""
    trees = index.joined.select(*_PAIR, sf.lit(1).alias("found"), sf.lit(0).alias("stored"))
    table = index.stored.select(*_PAIR, sf.lit(0).alias("found"), sf.lit(1).alias("stored"))
    by_pair = (
        trees.unionByName(table).groupBy(*_PAIR).agg(sf.sum("found").alias("found"), sf.sum("stored").alias("stored"))
    )
    kind = sf.when(sf.col("found") > sf.col("stored"), "lost").otherwise("made up")
    words = sf.concat(sf.lit("path_id "), "path_id", sf.lit(" and branch_id "), "branch_id", sf.lit(": "), kind)
    return found(by_pair.where("found <> stored"), words)


def wrong_names(rows: DataFrame, table: str) -> Finding:
    """Counts rows of paths or branches whose name is not the hash of their content."""
    check, columns = {
        "branches": (_wrong_branch_names, ("branch_id", "steps", "labels")),
        "paths": (_wrong_path_names, ("path_id", "parent_id", "label")),
    }[table]
    return found(rows.select(*columns).mapInArrow(check, _PROBLEM), sf.col("problem"))


def _check_partition(tree: "pa.Table", branches: "pa.Table") -> "pa.Table":
    from winnow.quality.index_tasks import check_partition

    return check_partition(tree, branches)


def _wrong_branch_names(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    from winnow.quality.index_tasks import wrong_branch_names

    return wrong_branch_names(batches)


def _wrong_path_names(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    from winnow.quality.index_tasks import wrong_path_names

    return wrong_path_names(batches)
