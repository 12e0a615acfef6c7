"""Bring the envelope trees up to date with the branches of the active profiles.

Reads: profiles, profile_patterns, patterns, branches, vocabulary. Writes: envelope_nodes, index_partitions.

Profile changes insert into and delete from the trees in place; when most of it changes, or on demand, everything is
packed anew under the next index version. index_partitions is committed last and names the version of envelope_nodes it
describes, so nobody sees half a build, and the next one finishes it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.engines.twigs import Ints, Longs
from winnow.envelope import EnvelopeTree, delete, insert
from winnow.envelope.boxes import sequence_boxes
from winnow.envelope.pack import sort_order
from winnow.errors import DataError
from winnow.index.lines import Branches, find, stored_branches
from winnow.index.trees import load_tree, tree_table
from winnow.lake.locks import table_lock
from winnow.lake.sql import sql
from winnow.lake.store import (
    commit_note,
    commit_parts,
    ensure_tables,
    open_table,
    read_rows,
    replace_partition,
    require_table,
    write_rows,
)
from winnow.pipeline.report import RunReport

PARTITION = 50_000  # branches of a partition; twice as many split it
INPUTS = ("profiles", "profile_patterns", "patterns", "branches")


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    run_id: str
    rebuild: bool = False
    partition: int = PARTITION


class Index(NamedTuple):
    """What a run pins: a version of the index, and its partitions' roots."""

    version: int
    build: int
    nodes_version: int  # of the table envelope_nodes
    roots: pa.Table

    def rows(self, lake: str, partition: int, columns: list[str] | None = None) -> pa.Table:
        where = {"index_version": self.version, "partition": partition}
        return read_rows(lake, "envelope_nodes", columns, where=where, version=self.nodes_version)


def load_index(lake: str) -> Index | None:
    """The newest whole index."""
    if open_table(lake, "index_partitions") is None:
        return None
    note = commit_note(lake, "index_partitions")
    if not note:
        return None
    roots = read_rows(lake, "index_partitions", where={"index_version": note["index_version"]})
    return Index(note["index_version"], note["build"], note["envelope_nodes"], roots.sort_by("partition"))


def run(config: Config) -> RunReport:
    report = RunReport("build_index")
    lake = config.lake
    with report.stage("plan"):
        ensure_tables(lake, ("envelope_nodes", "index_partitions"))
        versions = {name: require_table(lake, name).version() for name in INPUTS}
        index = load_index(lake)
        current = index is not None and commit_note(lake, "index_partitions")["inputs"] == versions
    if index and current and not config.rebuild:
        report.counts = {
            "branches": pc.sum(index.roots.column("branches")).as_py() or 0,
            "index version": index.version,
        }
        return report
    with report.stage("build"), table_lock(lake, "index"):
        branches, wanted = _wanted(lake, versions)
        change = _Change(config, branches, index, versions)
        change.apply(wanted)
    report.counts = {
        "branches": wanted.size,
        "inserted": change.inserted,
        "deleted": change.deleted,
        "partitions": change.partitions,
        "index version": change.version,
    }
    return report


def _wanted(lake: str, versions: dict[str, int]) -> tuple[Branches, Longs]:
    """All branches, and the numbers of those that some active profile has."""

    def read(table: str, columns: list[str]) -> pa.Table:
        return read_rows(lake, table, columns, version=versions[table])

    live = live_patterns(
        read("profiles", ["profile_id", "profile_version", "state"]),
        read("profile_patterns", ["profile_id", "profile_version", "pattern_id"]),
    )
    patterns = read("patterns", ["pattern_id", "branches"])
    patterns = patterns.filter(pc.is_in(patterns.column("pattern_id"), value_set=live))
    branches = stored_branches(read("branches", ["branch", "branch_id", "steps"]))
    wanted = find(
        branches.codes, patterns.column("branches").combine_chunks().flatten().unique().to_numpy().astype(np.int64)
    )
    if (wanted < 0).any():
        raise DataError("branches_stale", "some patterns have no branches yet", hint="run encode_profiles first")
    return branches, np.unique(wanted)


def live_patterns(profiles: pa.Table, encoded: pa.Table) -> pa.ChunkedArray:
    """The ids of the patterns that some active profile has."""
    query = """
        SELECT DISTINCT pattern_id FROM encoded JOIN profiles USING (profile_id, profile_version)
        WHERE state = 'active' AND pattern_id IS NOT NULL
    """
    return sql(query, profiles=profiles, encoded=encoded).column(0)


class _Change:
    """One build: which partitions change, and their new rows."""

    def __init__(self, config: Config, branches: Branches, index: Index | None, versions: dict[str, int]) -> None:
        self._config, self._branches, self._old, self._versions = config, branches, index, versions
        self._build = index.build + 1 if index else 1
        self._boxes = sequence_boxes(branches.sequences())
        self.inserted = self.deleted = self.partitions = 0
        self.version = index.version if index else 0
        self._roots: dict[int, dict[str, Any]] = {}

    def apply(self, wanted: Longs) -> None:
        lake = self._config.lake
        present, homes, builds = self._present()
        new, gone = np.setdiff1d(wanted, present), np.setdiff1d(present, wanted)
        self.inserted, self.deleted = new.size, gone.size
        if self._config.rebuild or not self._old or new.size + gone.size > present.size // 2:
            self.version += 1
            known = find(present, wanted)
            build = np.where(known >= 0, builds[known] if builds.size else 0, self._build).astype(np.int32)
            self._pack(wanted, build)
        else:
            self._roots = {row["partition"]: row for row in self._old.roots.to_pylist()}
            homes_of_new = self._choose(new)
            for partition in np.unique(np.concatenate([homes_of_new, homes[np.isin(present, gone)]])).tolist():
                self._edit(partition, new[homes_of_new == partition], gone)
        rows = [self._roots[partition] for partition in sorted(self._roots)]
        note: dict[str, Any] = {"job": "build_index", "run_id": self._config.run_id, "inputs": self._versions}
        note |= {"index_version": self.version, "build": self._build}
        note["envelope_nodes"] = require_table(lake, "envelope_nodes").version()
        where = {"index_version": self.version}
        parts = write_rows(lake, "index_partitions", pa.Table.from_pylist(rows), where) if rows else []
        with table_lock(lake, "index_partitions"):
            commit_parts(lake, "index_partitions", parts, where, note, replace=True)
        self.partitions = len(rows)

    def _present(self) -> tuple[Longs, Longs, Ints]:
        """Branches in the trees, as they are, also after a build that did not end; their partitions and builds."""
        if not self._old:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32)
        where = {"index_version": self.version}
        rows = read_rows(self._config.lake, "envelope_nodes", ["entry", "build", "partition"], where=where)
        rows = rows.filter(pc.greater_equal(rows.column("entry"), 0))
        entry, partition, build = (rows.column(name).to_numpy() for name in ("entry", "partition", "build"))
        return entry.astype(np.int64), partition.astype(np.int64), build.astype(np.int32)

    def _pack(self, wanted: Longs, builds: Ints) -> None:
        """Sorted sequences, cut evenly: neighbours share a partition, so root envelopes are tight."""
        order = sort_order(sequence_boxes(self._branches.take(wanted).sequences()))
        pieces = np.array_split(order, max(1, -(-wanted.size // self._config.partition)))
        for partition, piece in enumerate(pieces):
            tree = EnvelopeTree.bulk_load(
                self._branches.take(wanted[piece]).sequences(), ids=wanted[piece].astype(np.int32)
            )
            self._store(partition, tree, wanted[piece], builds[piece])

    def _choose(self, new: Longs) -> Longs:
        """For each new branch the partition whose bounds at the lower end hold it, the narrowest, else the nearest."""
        heads, positions = self._boxes.heads[new], self._boxes.positions
        low, high = (positions[name][heads["start"]].astype(np.float64) for name in ("low", "high"))
        roots = [(p, r["low"][0], r["high"][0]) for p, r in self._roots.items() if r["branches"] and r["low"]]
        if not roots:
            return np.zeros(new.size, np.int64)
        partition, lows, highs = (np.array(column, np.float64) for column in zip(*roots, strict=True))
        wider = np.maximum(lows - low[:, None], 0) + np.maximum(high[:, None] - highs, 0)
        best = np.lexsort((np.broadcast_to(highs - lows, wider.shape), wider), axis=1)[:, 0]
        return partition[best].astype(np.int64)

    def _edit(self, partition: int, new: Longs, gone: Longs) -> None:
        where = {"index_version": self.version, "partition": partition}
        rows = read_rows(self._config.lake, "envelope_nodes", where=where)
        tree = load_tree(rows, self._roots[partition]["parameters"])
        kept = rows.filter(pc.greater_equal(rows.column("entry"), 0))
        entries, builds = kept.column("entry").to_numpy().astype(np.int64), kept.column("build").to_numpy()
        leaving = np.intersect1d(entries, gone)
        if leaving.size:
            tree = delete(tree, leaving.astype(np.int32))
        if new.size:
            tree = insert(tree, self._branches.take(new).sequences(), ids=new.astype(np.int32))
        entries = np.concatenate([entries, new])
        builds = np.concatenate([builds, np.full(new.size, self._build)]).astype(np.int32)
        if len(tree) <= 2 * self._config.partition:
            self._store(partition, tree, entries, builds)
            return
        live = np.setdiff1d(entries, leaving)
        order = live[sort_order(sequence_boxes(self._branches.take(live).sequences()))]
        for target, half in zip((partition, max(self._roots) + 1), np.array_split(order, 2), strict=True):
            tree = EnvelopeTree.bulk_load(self._branches.take(half).sequences(), ids=half.astype(np.int32))
            self._store(target, tree, half, builds[find(entries, half)])

    def _store(self, partition: int, tree: EnvelopeTree, entries: Longs, builds: Ints) -> None:
        table, parameters = tree_table(tree, builds, entries.astype(np.int32))
        lake, where = self._config.lake, {"index_version": self.version, "partition": partition}
        note = {"job": "build_index", "run_id": self._config.run_id, "build": self._build}
        replace_partition(lake, "envelope_nodes", write_rows(lake, "envelope_nodes", table, where), where, note)
        root = table.slice(0, 1).to_pylist()[0]
        names = ("shortest", "longest", "top", "must", "may", "low", "high", "adjacent")
        self._roots[partition] = {name: root[name] for name in names} | {
            "partition": partition,
            "branches": len(tree),
            "parameters": parameters,
            "build": self._build,
        }
