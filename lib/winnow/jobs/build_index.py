"""Bring the envelope trees up to date with the branches of the active profiles.

Reads:  profiles, profile_patterns, branches; the index itself
Writes: index_symbols, envelope_nodes; index_partitions, which names what of these counts

Each index partition is one tree, and all that change are built at the same time. A few new branches go to the open
partition, which is small; when it is no longer, its branches move to the partitions they belong to. When most of the
index changes, or on demand, everything is packed anew under the next index version.

Rows of trees never change: a build adds trees, and names them in index_partitions by its last commit. So nobody sees
half a build, and a build that was killed leaves rows that nobody names. Of two builds that began with the same index
the second one is skipped by Delta, finds that, and plans again.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from winnow.errors import TransientError
from winnow.jobs.index_state import (
    LINE,
    IndexState,
    index_state,
    is_lost,
    named_trees,
    own_rows,
    replace_own,
    symbols,
    trees,
)
from winnow.jobs.report import RunReport
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_small

if TYPE_CHECKING:
    import pyarrow as pa

PARTITION_BRANCHES = 50_000  # twice as many split a partition
OPEN_SHARE = 4  # the open partition has up to a fourth of what another may have, or all others have
INPUTS = ("profiles", "profile_patterns", "branches")  # a row of one is there before those that name it
TABLES = ("index_symbols", "envelope_nodes", "index_partitions")
_ATTEMPTS = 5
_ANY_LABEL = (2**29, -(2**29))  # in place of a label's number: winnow.patterns.twigs.ANY_ELEMENT, ANY_ATTRIBUTE
_NODES_TYPE = contract("envelope_nodes").row_type_of("index_version", "build_id")
_NODE_COLUMNS = [name for name in contract("envelope_nodes").names if name not in ("index_version", "build_id")]
_CHANGE_COLUMNS = ["partition", "branch_id", "build", "steps", "is_wanted"]
_CHANGES_TYPE = "partition int, branch_id long, build int, steps array<int>, is_wanted boolean"


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    run_id: str
    rebuild: bool = False
    partition: int = PARTITION_BRANCHES


@dataclass(frozen=True)
class Changes:
    """How many branches each partition holds and loses, and how many are new to the index."""

    held: Mapping[int, int]
    gone: Mapping[int, int]
    new: int

    @property
    def branches(self) -> int:
        return sum(self.held.values()) + self.new - sum(self.gone.values())

    @property
    def are_most(self) -> bool:
        return self.new + sum(self.gone.values()) > sum(self.held.values()) // 2


@dataclass(frozen=True, kw_only=True)
class Build:
    """What a build is called, and what it begins with."""

    id: str
    number: int
    previous: IndexState | None
    base: IndexState | None  # the previous index, if its trees can be relied on
    base_version: int  # of index_partitions
    inputs: Mapping[str, int]
    changes: Changes
    limit: int  # branches of a partition

    @property
    def index_id(self) -> str:
        return self.base.index_id if self.base else self.id


class NewTrees(NamedTuple):
    """What a build has written: trees under its id, and perhaps symbols."""

    index_version: int
    symbols_id: str
    open_partition: int
    keeps_others: bool  # partitions that it did not write stay as they are


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("build_index")
    tables = config.lake.open(spark)
    tables.create(*TABLES)
    base_version = 0
    for _ in range(_ATTEMPTS):
        with report.stage("plan"):
            previous = index_state(tables)
            if previous is None:
                base_version = tables.version("index_partitions")
                previous = index_state(tables)  # there may be one by now, and then this is not its base
            inputs = tables.versions(*INPUTS)
            if previous and previous.inputs == inputs and not config.rebuild:
                return _unchanged(report, previous)
            wanted = wanted_branches(*(tables.read(name, version=inputs[name]) for name in INPUTS[:2]))
            base, changes = _compare(tables, previous, wanted)
        with report.stage("build"):
            number = previous.build + 1 if previous else 1
            build = Build(
                id=f"{number:08d}-{uuid.uuid4().hex[:12]}",
                number=number,
                previous=previous,
                base=base,
                base_version=previous.table_version if previous else base_version,
                inputs=inputs,
                changes=changes,
                limit=config.partition,
            )
            if base is None or config.rebuild or changes.are_most:
                index = _commit(tables, build, _pack(tables, build, wanted))
            elif changes.new or changes.gone:
                index = _commit(tables, build, _edit(tables, build, wanted))
            else:
                index = _note_inputs(tables, replace(build, number=base.build))
        if index:
            with report.stage("forget"):
                forget_superseded(tables, index)
            report.counts = {
                "branches": index.branches,
                "inserted": changes.new,
                "deleted": sum(changes.gone.values()),
                "partitions": len(index.partitions),
                "index version": index.version,
            }
            return report
    raise TransientError("index_moves", f"other builds came first {_ATTEMPTS} times", hint="start again")


def wanted_branches(profiles: DataFrame, profile_patterns: DataFrame) -> DataFrame:
    """Returns the branches of the patterns that some active profile has."""
    asked = profiles.where("state = 'active'").select("xpath_id")
    return (
        profile_patterns.where("class <> 'rejected'")
        .join(asked, "xpath_id", "left_semi")
        .select(sf.explode("branches.branch_id").alias("branch_id"))
        .distinct()
    )


def changed_branches(wanted: DataFrame, held: DataFrame) -> DataFrame:
    """Returns all branches of either side: wanted ones without a partition are new, held ones not wanted go."""
    return (
        wanted.withColumn("wanted", sf.lit(True))
        .join(held.select("branch_id", "partition", "build"), "branch_id", "full_outer")
        .select("branch_id", "partition", "build", sf.coalesce("wanted", sf.lit(False)).alias("is_wanted"))
    )


def count_changes(wanted: DataFrame, nodes: DataFrame | None) -> Changes:
    """Returns what is to change in each partition of the index with these rows of trees."""
    if nodes is None:
        return Changes({}, {}, wanted.count())
    counts = changed_branches(wanted, entries(nodes)).groupBy("partition")
    rows = read_small(counts.agg(sf.count("*").alias("all"), sf.count_if(~sf.col("is_wanted")).alias("gone")))
    new = sum(row["all"] for row in rows if row["partition"] is None)
    own = [row for row in rows if row["partition"] is not None]
    gone = {row["partition"]: row["gone"] for row in own if row["gone"]}
    return Changes({row["partition"]: row["all"] for row in own}, gone, new)


def entries(nodes: DataFrame) -> DataFrame:
    """Returns the branches in rows of trees."""
    return nodes.where("level = 0").select("branch_id", "partition", "build")


def with_symbols(rows: DataFrame, branches: DataFrame, numbers: DataFrame) -> DataFrame:
    """Gives rows of branch_id, build and is_wanted their steps, labels replaced by the symbols of the index.

    A branch that is not in `branches` has null for steps.
    """
    labelled = rows.join(branches.select("branch_id", "steps", "labels"), "branch_id", "left")
    return (
        labelled.select("*", sf.posexplode_outer("labels").alias("number", "label"))
        .join(numbers, "label", "left")
        .groupBy("branch_id")
        .agg(
            *(sf.any_value(name).alias(name) for name in ("build", "is_wanted", "steps")),
            sf.array_sort(sf.collect_list(sf.struct("number", "symbol"))).alias("named"),
        )
        .select("branch_id", "build", sf.transform("steps", _with_symbol).alias("steps"), "is_wanted")
    )


def _with_symbol(step: Column) -> Column:
    """Of `2 * number + axis`; numbers of labels begin with 1 and are negative for attributes."""
    number = sf.shiftright(step, 1)
    symbol = sf.signum(number).cast("int") * sf.col("named")[sf.abs(number) - 1]["symbol"]
    return sf.when(number.isin(0, *_ANY_LABEL), step).otherwise(2 * symbol + step.bitwiseAND(sf.lit(1)))


def numbered_labels(branches: DataFrame, known: DataFrame | None = None) -> DataFrame:
    """Returns symbol and label of the known labels and, after them, of those that branches bring."""
    labels = branches.select(sf.explode("labels").alias("label")).distinct()
    by_label = sf.row_number().over(Window.orderBy("label"))  # as many as there are labels: one task has room
    if known is None:
        return labels.select(by_label.alias("symbol"), "label")
    last = known.agg(sf.coalesce(sf.max("symbol"), sf.lit(0)).alias("last"))
    new = labels.join(known, "label", "left_anti").select(by_label.alias("number"), "label").crossJoin(last)
    return known.select("symbol", "label").unionByName(new.select((new.last + new.number).alias("symbol"), "label"))


def packed_trees(bound: DataFrame, partitions: int) -> DataFrame:
    """Returns the rows of new trees over all branches; neighbours in the order of their steps share a partition."""
    in_order = Window.orderBy("steps", "branch_id")
    numbered = bound.select((sf.ntile(partitions).over(in_order) - 1).alias("partition"), "branch_id", "build", "steps")
    nothing = bound.sparkSession.createDataFrame([(0, None, None, None)], numbered.schema)  # an empty index is one, too
    return numbered.unionByName(nothing).groupBy("partition").applyInArrow(_pack_partition, _NODES_TYPE)


def plan_splits(sizes: Mapping[int, int], *, limit: int, next_partition: int) -> dict[int, list[int]]:
    """Returns the numbers of the pieces of each partition that has outgrown twice the limit.

    >>> plan_splits({0: 21, 1: 20, 2: 25}, limit=10, next_partition=3)
    {0: [0, 3, 4], 2: [2, 5, 6]}
    """
    pieces = {}
    for partition in sorted(sizes):
        if sizes[partition] > 2 * limit:
            count = -(-sizes[partition] // limit)
            pieces[partition] = [partition, *range(next_partition, next_partition + count - 1)]
            next_partition += count - 1
    return pieces


def edited_trees(old: DataFrame, changes: DataFrame, pieces: Mapping[int, list[int]]) -> DataFrame:
    """Returns the rows of new trees of the partitions in which branches come (is_wanted) and go."""
    edit = partial(_edit_partition, pieces=pieces)
    return old.groupBy("partition").cogroup(changes.groupBy("partition")).applyInArrow(edit, _NODES_TYPE)


def forget_superseded(tables: Tables, index: IndexState) -> None:
    """Removes the trees and symbols that older builds wrote and this index does not name.

    A build that is under way has a later number, unless it began with an older index: then it is skipped in any case.
    """
    is_older = f"build_id < '{index.build:08d}'"
    if index.build > 1:
        tables.delete("envelope_nodes", f"{is_older} AND NOT ({named_trees(index)})")
        if index.symbols_id.startswith(f"{index.build:08d}-"):
            tables.delete("index_symbols", is_older)


def _unchanged(report: RunReport, index: IndexState) -> RunReport:
    report.counts = {"branches": index.branches, "index version": index.version}
    return report.nothing_to_do()


def _compare(tables: Tables, index: IndexState | None, wanted: DataFrame) -> tuple[IndexState | None, Changes]:
    """Returns the index and what is to change in it; None for an index that cannot be relied on."""
    if index and not _was_restored(tables, index):
        try:
            changes = count_changes(wanted, trees(tables, index))
            if all(changes.held.get(row["partition"], 0) == row["branches"] for row in index.partitions):
                return index, changes
        except Exception as error:
            if not is_lost(error):
                raise
    return None, count_changes(wanted, None)


def _was_restored(tables: Tables, index: IndexState) -> bool:
    """Then builds that joins have met are undone, and their numbers are given again."""
    history = tables.spark.sql(f"DESCRIBE HISTORY {tables.lake.table('index_partitions')}")
    return bool(read_small(history.where(f"operation = 'RESTORE' AND version > {index.base_version}").limit(1)))


def _pack(tables: Tables, build: Build, wanted: DataFrame) -> NewTrees:
    branches = tables.read("branches", version=build.inputs["branches"])
    if build.base:
        known = entries(trees(tables, build.base)).select("branch_id", "build")
        rows = wanted.join(known, "branch_id", "left")
    else:
        rows = wanted.withColumn("build", sf.lit(None).cast("int"))
    rows = rows.select("branch_id", sf.coalesce("build", sf.lit(build.number)).alias("build"))
    version = build.previous.version + 1 if build.previous else 1
    labels = numbered_labels(branches.join(wanted, "branch_id", "left_semi"))
    _append(tables, "index_symbols", labels.withColumn("share", sf.lit(None).cast("double")), build, version)
    bound = with_symbols(rows.withColumn("is_wanted", sf.lit(True)), branches, _new_symbols(tables, build))
    partitions = max(1, -(-build.changes.branches // build.limit))
    _append(tables, "envelope_nodes", packed_trees(bound, partitions), build, version)
    return NewTrees(version, build.id, -1, keeps_others=False)


def _edit(tables: Tables, build: Build, wanted: DataFrame) -> NewTrees:
    """Few new branches go to the open partition; else they, and those that it has, go where they belong."""
    assert build.base
    index, changes = build.base, build.changes
    branches = tables.read("branches", version=build.inputs["branches"])
    all_rows = changed_branches(wanted, entries(trees(tables, index)))
    new = all_rows.where("partition IS NULL").withColumn("build", sf.lit(build.number))
    symbols_id, numbers = _add_labels(tables, build, branches.join(new, "branch_id", "left_semi"))
    open_partition = _open_partition(index)
    moved = changes.held.get(open_partition, 0) - changes.gone.get(open_partition, 0)
    sizes = {partition: held - changes.gone.get(partition, 0) for partition, held in changes.held.items()}
    last = max(row["partition"] for row in index.partitions)
    if moved + changes.new <= min(build.limit, sum(changes.held.values())) // OPEN_SHARE:
        if changes.new and open_partition < 0:
            open_partition = last = last + 1
        coming = with_symbols(new, branches, numbers).withColumn("partition", sf.lit(open_partition))
        leaving = all_rows.where("NOT is_wanted")
        arrivals = {open_partition: changes.new} if changes.new else {}
    else:
        is_moved = (sf.col("partition") == open_partition) & sf.col("is_wanted")
        bound = with_symbols(new.unionByName(all_rows.where(is_moved)), branches, numbers)
        coming = placed_branches(bound, _lower_ends(index, open_partition))
        leaving = all_rows.where(~sf.col("is_wanted") | is_moved).withColumn("is_wanted", sf.lit(False))
        sizes[open_partition] = 0
        counts = coming.groupBy("partition").agg(sf.count("*").alias("count"))
        arrivals = {row["partition"]: row["count"] for row in read_small(counts)}
    for partition, count in arrivals.items():
        sizes[partition] = sizes.get(partition, 0) + count
    pieces = plan_splits(sizes, limit=build.limit, next_partition=last + 1)
    leaves_open = {open_partition} if moved and sizes.get(open_partition) == 0 else set()
    touched = set(arrivals) | set(changes.gone) | leaves_open
    leaving = leaving.withColumn("steps", sf.lit(None).cast("array<int>"))
    rows = coming.select(*_CHANGE_COLUMNS).unionByName(leaving.select(*_CHANGE_COLUMNS))
    edited = edited_trees(trees(tables, index, touched).select(*_NODE_COLUMNS), rows, pieces)
    _append(tables, "envelope_nodes", edited, build, index.version)
    return NewTrees(index.version, symbols_id, open_partition, keeps_others=True)


def placed_branches(bound: DataFrame, roots: Sequence[tuple[int, int, int]]) -> DataFrame:
    """Gives branches the partition to which they belong, see `winnow.index.partition_tasks.choose_partitions`."""
    if not roots:
        return bound.withColumn("partition", sf.lit(0))
    placed: DataFrame = bound.mapInArrow(partial(_choose_partitions, roots=list(roots)), _CHANGES_TYPE)
    return placed


def _lower_ends(index: IndexState, open_partition: int) -> list[tuple[int, int, int]]:
    """Of partitions that branches may belong to, the bounds at the lower end."""
    return [
        (row["partition"], row["low"][0], row["high"][0])
        for row in index.partitions
        if row["branches"] and row["low"] and row["partition"] != open_partition
    ]


def _add_labels(tables: Tables, build: Build, new_branches: DataFrame) -> tuple[str, DataFrame]:
    """Returns the symbols after labels of new branches have got theirs, and the build that wrote them."""
    assert build.base
    known = symbols(tables, build.base)
    labels = new_branches.select(sf.explode("labels").alias("label")).join(known, "label", "left_anti")
    if not labels.limit(1).count():
        return build.base.symbols_id, known
    numbered = numbered_labels(new_branches, known).withColumn("share", sf.lit(None).cast("double"))
    _append(tables, "index_symbols", numbered, build, build.base.version)
    return build.id, _new_symbols(tables, build)


def _new_symbols(tables: Tables, build: Build) -> DataFrame:
    return tables.read("index_symbols").where(sf.col("build_id") == build.id).select("symbol", "label")


def _append(tables: Tables, name: str, rows: DataFrame, build: Build, index_version: int) -> None:
    named = rows.withColumn("index_version", sf.lit(index_version)).withColumn("build_id", sf.lit(build.id))
    tables.append(name, named.select(*contract(name).names), Transaction(f"{name}/{build.id}"))


def _commit(tables: Tables, build: Build, made: NewTrees) -> IndexState | None:
    """Makes the build the index; None if another one came first."""
    rows = index_rows(tables.read("envelope_nodes").where(sf.col("build_id") == build.id), build, made)
    if made.keeps_others:
        others = own_rows(tables, LINE, build.base_version).join(rows.select("partition"), "partition", "left_anti")
        rows = rows.unionByName(_of_build(others, build, made))
    replace_own(tables, LINE, rows, build.base_version)
    index = index_state(tables)
    return index if index and any(row["build_id"] == build.id for row in index.partitions) else None


def _note_inputs(tables: Tables, build: Build) -> IndexState | None:
    """Says that the index is that of newer inputs, too: jobs that rely on it compare versions."""
    assert build.base
    same = NewTrees(build.base.version, build.base.symbols_id, _open_partition(build.base), keeps_others=True)
    rows = _of_build(own_rows(tables, LINE, build.base_version), build, same)
    replace_own(tables, LINE, rows, build.base_version)
    index = index_state(tables)
    return index if index and index.inputs == build.inputs else None


def _open_partition(index: IndexState) -> int:
    return next((row["partition"] for row in index.partitions if row["is_open"]), -1)


def index_rows(nodes: DataFrame, build: Build, made: NewTrees) -> DataFrame:
    """Returns the rows of index_partitions for the trees that a build has written, from their roots."""
    roots = (
        nodes.where("node_id = 0")
        .withColumn("branches", sf.get_json_object("parameters", "$.sequences").cast("int"))
        .withColumn("build", sf.lit(build.number))
    )
    return _of_build(roots, build, made)


def _of_build(rows: DataFrame, build: Build, made: NewTrees) -> DataFrame:
    inputs = [sf.lit(part) for pair in build.inputs.items() for part in pair]
    described = {
        "is_open": sf.col("partition") == made.open_partition,
        "index_id": sf.lit(build.index_id),
        "index_build": sf.lit(build.number),
        "symbols_id": sf.lit(made.symbols_id),
        "base_version": sf.lit(build.base_version).cast("long"),
        "inputs": sf.create_map(*inputs).cast("map<string,long>"),
        "checksum": sf.lit(None).cast("long"),
        "labels": sf.lit(None).cast("array<long>"),
        "first_column": sf.lit(None).cast("int"),
    }
    return rows.withColumns(described).select(*contract("index_partitions").names)


def _pack_partition(rows: "pa.Table") -> "pa.Table":
    from winnow.index.partition_tasks import pack_partition

    return pack_partition(rows)


def _edit_partition(old: "pa.Table", changes: "pa.Table", *, pieces: Mapping[int, list[int]]) -> "pa.Table":
    from winnow.index.partition_tasks import edit_partition

    return edit_partition(old, changes, pieces=pieces)


def _choose_partitions(
    batches: "Iterable[pa.RecordBatch]", *, roots: list[tuple[int, int, int]]
) -> "Iterator[pa.RecordBatch]":
    from winnow.index.partition_tasks import choose_partitions

    return choose_partitions(batches, roots=roots)
