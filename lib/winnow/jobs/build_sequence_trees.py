"""Bring the SUBSEQUENCE trees up to date with the patterns of the active profiles: for engines of the BoXFilter paper.

Reads:  profiles, profile_patterns, selectivity, encoded_documents; the index itself
Writes: index_symbols, envelope_nodes; index_partitions, which names what of these counts

A profile lives in the partition of its patterns' access labels: labels are ordered as documents have them together, and
partitions are cut between labels. Documents are routed to a partition by its labels (index_partitions). Labels, their
weights and the cuts are frozen for an index version: a change inserts and deletes in the trees it touches.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from winnow.errors import DataError, TransientError
from winnow.jobs.index_state import (
    SUBSEQUENCE,
    IndexState,
    index_state,
    is_lost,
    named_trees,
    own_rows,
    replace_own,
    trees,
)
from winnow.jobs.report import RunReport
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_small

if TYPE_CHECKING:
    import pyarrow as pa

ENGINES = ("boxfilter", "b-boxfilter")  # that search these trees
INPUTS = ("profiles", "profile_patterns")
TABLES = ("index_symbols", "envelope_nodes", "index_partitions", "selectivity")
PARTITION_SEQUENCES = 50_000
MAX_LABELS = 1_000_000  # that come to the driver
SAMPLED_DOCUMENTS = 500  # whose labels say which ones come together
_ATTEMPTS = 5
_PIECES = "xpath_id string, column int, sequence_id long, low array<int>, high array<int>"
_NODES_TYPE = contract("envelope_nodes").row_type_of("index_version", "build_id")
_NODE_COLUMNS = [name for name in contract("envelope_nodes").names if name not in ("index_version", "build_id")]


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    run_id: str
    rebuild: bool = False
    partition: int = PARTITION_SEQUENCES


class Directory(NamedTuple):
    """Labels by column with their shares, and for each partition the lowest access column that it takes."""

    names: tuple[str, ...]
    shares: tuple[float, ...]
    firsts: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Build:
    id: str
    number: int
    version: int
    index_id: str
    base_version: int  # of index_partitions
    inputs: Mapping[str, int]
    symbols_id: str


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("build_sequence_trees")
    tables = config.lake.open(spark)
    tables.create(*TABLES)
    for _ in range(_ATTEMPTS):
        with report.stage("plan"):
            base_version = tables.version("index_partitions")
            previous = index_state(tables, SUBSEQUENCE)
            inputs = tables.versions(*INPUTS)
            if previous and previous.inputs == inputs and not config.rebuild and _is_whole(tables, previous):
                return _reported(report, previous, 0, 0)
            base_version = previous.table_version if previous else base_version
            patterns = wanted_patterns(*(tables.read(name, version=inputs[name]) for name in INPUTS))
        with report.stage("build"):
            build = _new_build(previous, inputs, base_version)
            edited = _edited(tables, config, previous, build, patterns) if previous and not config.rebuild else None
            made = edited or _packed(tables, config, build, patterns)
            index = _commit(tables, made)
        if index:
            with report.stage("forget"):
                _forget_superseded(tables, index)
            return _reported(report, index, made.inserted if edited else index.branches, made.deleted)
    raise TransientError("index_moves", f"other builds came first {_ATTEMPTS} times", hint="start again")


def require_sequence_trees(tables: Tables, versions: Mapping[str, int]) -> tuple[IndexState, Directory]:
    """Returns the trees over pieces and their directory, if they are whole and those of these versions of the inputs.

    Raises:
        DataError: there are none, or they are of older profiles, or rows of them are gone or were changed.
        TransientError: they are those of newer profiles already.
    """
    index = index_state(tables, SUBSEQUENCE)
    if index is None:
        where = f"there are no trees over pieces of patterns in {tables.lake.location}"
        raise DataError("index_missing", where, hint="run `winnow build-index --engine boxfilter` first")
    for name in INPUTS:
        if index.inputs[name] != versions[name]:
            words = f"the trees over pieces are of version {index.inputs[name]} of {name}, asked is {versions[name]}"
            if index.inputs[name] > versions[name]:
                raise TransientError("index_moved", words, hint="plan the run again")
            raise DataError("index_stale", words, hint="run `winnow build-index --engine boxfilter` first")
    damaged = _damaged(tables, index)
    if damaged:
        raise DataError("index_damaged", damaged, hint="run `winnow build-index --engine boxfilter --rebuild`")
    return index, _directory(tables, index)


def wanted_patterns(profiles: DataFrame, profile_patterns: DataFrame) -> DataFrame:
    """Returns xpath_id and patterns of the XPaths that some active profile has."""
    asked = profiles.where("state = 'active'").select("xpath_id")
    lean = "transform(patterns, p -> struct(p.pattern_id, p.twig, p.labels, p.tests)) AS patterns"
    compiled = profile_patterns.where("class <> 'rejected'").join(asked, "xpath_id", "left_semi")
    return compiled.selectExpr("xpath_id", lean)


def pieces(patterns: DataFrame, directory: Directory) -> DataFrame:
    """Returns partition, xpath_id and, for each of its patterns, the access piece as a row of a tree."""
    find = partial(_access_pieces, names=directory.names, shares=directory.shares)
    found: DataFrame = patterns.mapInArrow(find, _PIECES)
    firsts = sf.array(*map(sf.lit, directory.firsts[1:])).cast("array<int>")
    lowest = sf.min("column").over(Window.partitionBy("xpath_id"))
    partition = sf.size(sf.filter(firsts, lambda first: first <= sf.col("lowest")))
    return found.withColumn("lowest", lowest).withColumn("partition", partition).drop("lowest")


def changed_pieces(wanted: DataFrame, held: DataFrame) -> DataFrame:
    """Returns pieces that come and go, with is_wanted; `held` are rows of trees."""
    rows = wanted.select("partition", "sequence_id", "low", "high").dropDuplicates(["partition", "sequence_id"])
    known = held.where("level = 0").selectExpr("partition", "branch_id AS sequence_id", "1 AS held")
    both = rows.withColumn("wanted", sf.lit(1)).join(known, ["partition", "sequence_id"], "full_outer")
    return both.where("held IS NULL OR wanted IS NULL").select(
        "partition", "sequence_id", "low", "high", sf.col("wanted").isNotNull().alias("is_wanted")
    )


def ordered_labels(patterns: DataFrame, rare: DataFrame, encoded: DataFrame) -> DataFrame:
    """Returns label and share of the labels of patterns, in the order in which sampled documents have them.

    Documents of one kind are neighbours in the sample, so labels that come together get columns that are neighbours.
    """
    labels = patterns.select(sf.explode(sf.flatten("patterns.labels")).alias("label")).distinct()
    share = (sf.col("documents") / sf.col("sampled")).alias("share")
    known = rare.where("counted = 'label'").select("label", "code", share)
    sampled = encoded.select("document_id", "labels").orderBy(sf.xxhash64("document_id")).limit(SAMPLED_DOCUMENTS)
    in_order = sampled.select("labels", sf.row_number().over(Window.orderBy("labels", "document_id")).alias("number"))
    met = in_order.select("number", sf.posexplode("labels").alias("at", "code"))
    first = met.groupBy("code").agg(sf.min(sf.struct("number", "at")).alias("first"))
    named = labels.join(known, "label", "left").join(first, "code", "left")
    return named.orderBy(sf.col("first").asc_nulls_last(), "label").select(
        "label", sf.coalesce("share", sf.lit(0.0)).alias("share")
    )


def plan_cuts(counts: Sequence[tuple[int, int]], limit: int) -> tuple[int, ...]:
    """Returns the lowest column of each partition, given columns with how many pieces their profiles have.

    >>> plan_cuts([(0, 1), (2, 3), (5, 4), (6, 1)], 4)
    (0, 5, 6)
    """
    firsts, held = [0], 0
    for column, count in sorted(counts):
        if held and held + count > limit:
            firsts.append(column)
            held = 0
        held += count
    return tuple(firsts)


def checksums(nodes: DataFrame) -> DataFrame:
    """Returns of each tree its partition, how many sequences it has, and a checksum of them."""
    rows = nodes.where("level = 0").withColumn("one", sf.xxhash64("branch_id", "low", "high"))
    counted = sf.count("*").cast("int").alias("sequences")
    return rows.groupBy("partition").agg(counted, sf.bit_xor("one").alias("checksum"))


class Made(NamedTuple):
    """What a build has written: trees under its id, which are all or only those that have changed."""

    build: Build
    directory: Directory
    keeps_others: bool
    inserted: int = 0
    deleted: int = 0


def _new_build(previous: IndexState | None, inputs: Mapping[str, int], base_version: int) -> Build:
    """A build of the next index version."""
    number = previous.build + 1 if previous else 1
    name = f"s{number:08d}-{uuid.uuid4().hex[:12]}"  # those of LINE trees begin with a digit
    version = previous.version + 1 if previous else 1
    return Build(
        id=name,
        number=number,
        version=version,
        index_id=name,
        base_version=base_version,
        inputs=inputs,
        symbols_id=name,
    )


def _packed(tables: Tables, config: Config, build: Build, patterns: DataFrame) -> Made:
    encoded = tables.read("encoded_documents") if tables.exists("encoded_documents") else None
    rare = tables.read("selectivity")
    if encoded is None:
        encoded = tables.spark.createDataFrame([], "document_id string, labels array<long>")
    labels = read_small(ordered_labels(patterns, rare, encoded), MAX_LABELS)
    whole = Directory(tuple(row["label"] for row in labels), tuple(row["share"] for row in labels), (0,))
    _write_labels(tables, build, whole)
    found = pieces(patterns, whole)
    lowest = found.groupBy("xpath_id").agg(sf.min("column").alias("column"), sf.count("*").alias("pieces"))
    counts = read_small(lowest.groupBy("column").agg(sf.sum("pieces").alias("pieces")), MAX_LABELS)
    firsts = plan_cuts([(row["column"], row["pieces"]) for row in counts], config.partition)
    directory = whole._replace(firsts=firsts)
    rows = pieces(patterns, directory).dropDuplicates(["partition", "sequence_id"])
    numbered = rows.select("partition", sf.lit(build.number).alias("build"), "sequence_id", "low", "high")
    empty = [(partition, build.number, None, None, None) for partition in range(len(firsts))]  # no tree is missing
    whole_rows = numbered.unionByName(tables.spark.createDataFrame(empty, numbered.schema))
    pack = _pack_sequences(directory.names, directory.shares)
    _append(tables, "envelope_nodes", whole_rows.groupBy("partition").applyInArrow(pack, _NODES_TYPE), build)
    return Made(build, directory, keeps_others=False)


def _edited(tables: Tables, config: Config, previous: IndexState, build: Build, patterns: DataFrame) -> Made | None:
    """Inserts and deletes in the trees that change; None where they are to be packed anew."""
    if not _is_whole(tables, previous):
        return None
    directory = _directory(tables, previous)
    labels = patterns.select(sf.explode(sf.flatten("patterns.labels")).alias("label")).distinct()
    new = sorted(row["label"] for row in read_small(labels, MAX_LABELS) if row["label"] not in set(directory.names))
    directory = directory._replace(names=(*directory.names, *new), shares=(*directory.shares, *[0.0] * len(new)))
    symbols_id = build.id if new else previous.symbols_id
    build = replace(build, version=previous.version, index_id=previous.index_id, symbols_id=symbols_id)
    held = trees(tables, previous)
    changes = changed_pieces(pieces(patterns, directory), held)
    counted = changes.groupBy("partition").agg(
        sf.count_if("is_wanted").alias("new"), sf.count_if(~sf.col("is_wanted")).alias("gone")
    )
    counts = {row["partition"]: (row["new"], row["gone"]) for row in read_small(counted)}
    sizes = {row["partition"]: row["branches"] for row in previous.partitions}
    inserted, deleted = (sum(count[k] for count in counts.values()) for k in (0, 1))
    outgrown = any(sizes[p] + count[0] - count[1] > 2 * config.partition for p, count in counts.items())
    if outgrown or inserted + deleted > sum(sizes.values()) // 2:
        return None
    if new:
        _write_labels(tables, build, directory)
    if counts:
        edit = _edit_sequences(directory.names, directory.shares)
        rows = changes.withColumn("build", sf.lit(build.number))
        old = trees(tables, previous, set(counts)).select(*_NODE_COLUMNS)
        grouped = old.groupBy("partition").cogroup(rows.groupBy("partition"))
        _append(tables, "envelope_nodes", grouped.applyInArrow(edit, _NODES_TYPE), build)
    return Made(build, directory, True, inserted, deleted)


def _commit(tables: Tables, made: Made) -> IndexState | None:
    """Makes the build the index; None if another one came first."""
    build = made.build
    own = tables.read("envelope_nodes").where(sf.col("build_id") == build.id)
    roots = own.where("node_id = 0").join(checksums(own), "partition", "left")
    firsts = sf.array(*map(sf.lit, made.directory.firsts))
    rows = roots.withColumns(
        {
            "branches": sf.coalesce("sequences", sf.lit(0)),
            "checksum": sf.coalesce("checksum", sf.lit(0).cast("long")),
            "build": sf.lit(build.number),
            "labels": sf.from_json(sf.get_json_object("parameters", "$.labels"), "array<long>"),
            "first_column": sf.get(firsts, sf.col("partition")),
        }
    )
    rows = _of_build(rows, build)
    if made.keeps_others:
        before = own_rows(tables, SUBSEQUENCE, build.base_version)
        others = before.join(rows.select("partition"), "partition", "left_anti")
        rows = rows.unionByName(_of_build(others, build))
    replace_own(tables, SUBSEQUENCE, rows, build.base_version)
    index = index_state(tables, SUBSEQUENCE)
    return index if index and index.build == build.number and index.inputs == build.inputs else None


def _of_build(rows: DataFrame, build: Build) -> DataFrame:
    inputs = [sf.lit(part) for pair in build.inputs.items() for part in pair]
    described = {
        "index_version": sf.lit(build.version),
        "is_open": sf.lit(False),
        "index_id": sf.lit(build.index_id),
        "index_build": sf.lit(build.number),
        "symbols_id": sf.lit(build.symbols_id),
        "base_version": sf.lit(build.base_version).cast("long"),
        "inputs": sf.create_map(*inputs).cast("map<string,long>"),
    }
    return rows.withColumns(described).select(*contract("index_partitions").names)


def _is_whole(tables: Tables, index: IndexState) -> bool:
    return not _damaged(tables, index)


def _damaged(tables: Tables, index: IndexState) -> str:
    """Says which tree is not what the directory says; nothing if all are."""
    try:
        found = {row["partition"]: row for row in read_small(checksums(trees(tables, index)))}
        roots = {row["partition"] for row in read_small(trees(tables, index).where("node_id = 0").select("partition"))}
    except Exception as error:
        if not is_lost(error):
            raise
        return "rows of the trees over pieces cannot be read any more"
    for told in index.partitions:
        partition = told["partition"]
        if partition not in roots:
            return f"the tree of partition {partition} (build {told['build_id']}) is gone from envelope_nodes"
        row = found.get(partition)
        count, checksum = (row["sequences"], row["checksum"]) if row else (0, 0)
        if count != told["branches"]:
            return f"the tree of partition {partition} has {count} sequences, {told['branches']} were written"
        if checksum != told["checksum"]:
            return f"the sequences of partition {partition} have checksum {checksum}, {told['checksum']} was written"
    return ""


def _directory(tables: Tables, index: IndexState) -> Directory:
    is_own = (sf.col("index_version") == index.version) & (sf.col("build_id") == index.symbols_id)
    symbols = tables.read("index_symbols", version=index.symbols_version).where(is_own).orderBy("symbol")
    rows = read_small(symbols.select("label", "share"), MAX_LABELS)
    firsts = tuple(row["first_column"] for row in index.partitions)
    return Directory(tuple(row["label"] for row in rows), tuple(row["share"] for row in rows), firsts)


def _write_labels(tables: Tables, build: Build, directory: Directory) -> None:
    numbered = [(k + 1, *pair) for k, pair in enumerate(zip(directory.names, directory.shares, strict=True))]
    rows = tables.spark.createDataFrame(numbered, "symbol int, label string, share double")
    _append(tables, "index_symbols", rows, build)


def _append(tables: Tables, name: str, rows: DataFrame, build: Build) -> None:
    named = rows.withColumn("index_version", sf.lit(build.version)).withColumn("build_id", sf.lit(build.id))
    tables.append(name, named.select(*contract(name).names), Transaction(f"{name}/{build.id}"))


def _forget_superseded(tables: Tables, index: IndexState) -> None:
    """Removes the trees and labels that older builds wrote and this index does not name."""
    is_older = f"build_id LIKE 's%' AND build_id < 's{index.build:08d}'"
    if index.build > 1:
        tables.delete("envelope_nodes", f"{is_older} AND NOT ({named_trees(index)})")
        tables.delete("index_symbols", f"{is_older} AND build_id <> '{index.symbols_id}'")


def _reported(report: RunReport, index: IndexState, inserted: int, deleted: int) -> RunReport:
    report.counts = {
        "sequences": index.branches,
        "inserted": inserted,
        "deleted": deleted,
        "partitions": len(index.partitions),
        "index version": index.version,
    }
    return report


def _access_pieces(
    batches: "Iterable[pa.RecordBatch]", *, names: tuple[str, ...], shares: tuple[float, ...]
) -> "Iterator[pa.RecordBatch]":
    from winnow.index.sequence_tasks import SequenceLabels, access_pieces

    return access_pieces(batches, labels=SequenceLabels(names, shares))


def _pack_sequences(names: tuple[str, ...], shares: tuple[float, ...]) -> "Callable[[pa.Table], pa.Table]":
    def pack(rows: "pa.Table") -> "pa.Table":  # Spark looks at the arguments of a function
        from winnow.index.sequence_tasks import SequenceLabels, pack_sequences

        return pack_sequences(rows, labels=SequenceLabels(names, shares))

    return pack


def _edit_sequences(names: tuple[str, ...], shares: tuple[float, ...]) -> "Callable[[pa.Table, pa.Table], pa.Table]":
    def edit(old: "pa.Table", changes: "pa.Table") -> "pa.Table":
        from winnow.index.sequence_tasks import SequenceLabels, edit_sequences

        return edit_sequences(old, changes, labels=SequenceLabels(names, shares))

    return edit
