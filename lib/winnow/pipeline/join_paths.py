"""Join distinct paths with distinct branches: every pair is asked once, ever.

Reads: vocabulary, paths, envelope_nodes, index_partitions. Writes: path_branches.

New paths meet all branches, new branches meet all paths. A partition is read only if its root envelope lets some new
path through, or if it holds new branches. How far the join has come is in the commit's note: the generation of paths
and the build of the index.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from winnow.arrays.types import Ints, Longs
from winnow.encoding import Vocabulary
from winnow.engines.structure import place_outlines, place_sequences, places_of
from winnow.engines.symbols import PathSymbols
from winnow.envelope import EnvelopeTree, Outlines, SequenceSet, could_hold, join
from winnow.errors import DataError
from winnow.index.trees import load_tree, may_fit, tree_of
from winnow.jobs.report import RunReport
from winnow.lake.contracts import load_contract
from winnow.lake.locks import table_lock
from winnow.lake.parts import Part, PartWriter, arrow_schema
from winnow.lake.store import adopt, commit_note, commit_parts, ensure_tables, require_table
from winnow.pipeline.build_index import Index, load_index
from winnow.pipeline.words import KnownPaths, shared_words

SMALL = 5000  # new branches
MANY = 10  # times as many paths as branches: most are ruled out before they are sorted


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    run_id: str


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("join_paths")
    lake = config.lake
    with report.stage("plan"):
        ensure_tables(lake, ("path_branches",))
        index = load_index(lake)
        if index is None:
            raise DataError("index_missing", "there is no index to join with", hint="run build_index first")
        paths = require_table(lake, "paths").version()  # their labels are in every later version of the vocabulary
        vocabulary, known = shared_words(lake, paths=paths, vocabulary=require_table(lake, "vocabulary").version())
        done = commit_note(lake, "path_branches")
        generation = done.get("generation", 0)
        build = done["build"] if done.get("index") == index.table_id(lake) else 0
        is_new = known.generations > generation
        is_new[0] = False
        places = Places.of(known, vocabulary)
        meets = _meets(index.roots, places, np.flatnonzero(is_new))
        builds = index.roots.column("build").to_numpy()
        partitions = index.roots.column("partition").to_numpy()
        work = [int(p) for k, p in enumerate(partitions) if meets[k].any() or builds[k] > build]
    with report.stage("join"):
        parts = _join(spark, _Task(lake, index, places, is_new, build), work) if work else []
    with report.stage("commit"):
        note = {"job": "join_paths", "run_id": config.run_id, "index_version": index.version}
        note |= {"generation": int(known.generations.max()), "build": index.build, "index": index.table_id(lake)}
        pairs = adopt(lake, "path_branches", sorted(parts), {}, note)
        if not pairs and (note["generation"], note["build"]) != (generation, build):
            with table_lock(lake, "path_branches"):
                commit_parts(lake, "path_branches", [], {}, note)
    report.counts = {
        "paths": len(known.table) - 1,
        "new paths": int(is_new.sum()),
        "partitions": index.roots.num_rows,
        "partitions read": len(work),
        "new path branches": pairs,
    }
    return report


def has_met(note: Mapping[str, Any], lake: str, index: Index) -> bool:
    """Whether a commit of path_branches with this note knows all branches of the index."""
    return note.get("build") == index.build and note.get("index") == index.table_id(lake)


@dataclass(frozen=True)
class Places:
    """All paths, and text in them, as data sequences, on demand; numbered as in `winnow.engines.structure`."""

    parents: Ints
    symbols: Ints
    codes: Longs

    @classmethod
    def of(cls, known: KnownPaths, vocabulary: Vocabulary) -> "Places":
        signed = PathSymbols(known.table, vocabulary).signed().copy()
        return cls(known.table.parents.copy(), signed, known.codes)

    def sequences(self, places: Longs) -> SequenceSet:
        return place_sequences(self.parents, self.symbols, places)

    def outlines(self) -> Outlines:
        return place_outlines(self.parents, self.symbols)


@dataclass(frozen=True)
class _Task:
    lake: str
    index: Index
    places: Places
    is_new: npt.NDArray[np.bool_]
    build: int  # entries of later builds are new

    def is_small(self, work: list[int]) -> bool:
        """Done by the driver before Spark has begun: a few new branches, no new paths."""
        entries = (self.index.rows(self.lake, partition, ["build"]).column(0) for partition in work)
        return not self.is_new.any() and sum(pc.sum(pc.greater(e, self.build)).as_py() or 0 for e in entries) <= SMALL

    def __call__(self, partition: int) -> list[Part]:
        at = int(np.flatnonzero(self.index.roots.column("partition").to_numpy() == partition)[0])
        rows = self.index.rows(self.lake, partition)
        parameters = self.index.roots.column("parameters")[at].as_py()
        new_paths, old_paths = np.flatnonzero(self.is_new), np.flatnonzero(~self.is_new)[1:]
        writer = PartWriter(self.lake, load_contract("path_branches"), {})
        if new_paths.size:
            self._write(writer, load_tree(rows, parameters), new_paths)
        new = rows.filter(pc.greater(rows.column("build"), self.build))  # nodes have build 0
        if new.num_rows and old_paths.size:
            self._write(writer, tree_of(new, parameters), old_paths)
        return writer.close()

    def _write(self, writer: PartWriter, tree: EnvelopeTree, paths: Longs) -> None:
        places = places_of(paths)
        if len(tree) * MANY < paths.size:
            places = places[could_hold(tree, self.places.outlines())[places]]
        pairs = join(tree, self.places.sequences(places))
        found = places[pairs.data]
        columns: list[Any] = [self.places.codes[found // 2], found % 2 == 1, pairs.queries]
        writer.write(pa.table(columns, schema=arrow_schema(load_contract("path_branches"))))


def _meets(roots: pa.Table, places: Places, chosen: Longs) -> npt.NDArray[np.bool_]:
    return may_fit(roots, places.sequences(places_of(chosen)))


def _join(spark: SparkSession, task: _Task, work: list[int]) -> list[Part]:
    if task.is_small(work):
        return [part for partition in work for part in task(partition)]
    context = spark.sparkContext
    shared = context.broadcast(task)

    def joined(partition: int) -> list[Part]:
        return shared.value(partition)

    found = context.parallelize(work, len(work)).map(joined).collect()
    shared.unpersist()
    return [part for parts in found for part in parts]
