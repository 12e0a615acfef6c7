"""Bring the envelope trees up to date with the branches of the active profiles.

Reads: profiles, profile_patterns, patterns, branches, vocabulary. Writes: envelope_nodes, index_partitions.

Profile changes insert into and delete from the trees in place; when most of it changes, or on demand, everything is
packed anew under the next index version. A few new branches go to the open partition, which is small; when it is no
longer, its branches move to the partitions they belong to. index_partitions is committed last and names the version of
envelope_nodes it describes, so nobody sees half a build: the next one begins at that version, and takes back what a
build that did not end has changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from winnow.arrays.types import Ints, Longs
from winnow.envelope import EnvelopeTree, SequenceSet, delete, insert
from winnow.envelope.boxes import sequence_boxes
from winnow.envelope.pack import sort_order
from winnow.errors import DataError
from winnow.index.lines import Branches, stored_branches
from winnow.index.trees import load_tree, tree_table
from winnow.jobs.report import RunReport
from winnow.lake.locks import table_lock
from winnow.lake.sql import sql
from winnow.lake.store import (
    commit_notes,
    commit_parts,
    ensure_tables,
    open_table,
    open_version,
    partition_files,
    read_chosen,
    read_rows,
    replace_partition,
    require_table,
    rows_by_partition,
    seen_by,
    write_rows,
)
from winnow.pipeline.profiles import marks_of, profiles_since

PARTITION = 50_000  # branches of a partition; twice as many split it
OPEN = 4  # the open partition has up to a fourth of what another may have, or all others have
INPUTS = ("profile_patterns", "profiles", "patterns", "branches")  # a row of one is there before those that name it


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
    note: Mapping[str, Any] = {}

    def table_id(self, lake: str) -> str:
        """Builds are counted anew when the table is made anew."""
        return str(require_table(lake, "index_partitions").metadata().id)

    def rows(self, lake: str, partition: int, columns: list[str] | None = None) -> pa.Table:
        where = {"index_version": self.version, "partition": partition}
        return read_rows(lake, "envelope_nodes", columns, where=where, version=self.nodes_version)


def load_index(lake: str) -> Index | None:
    """The newest whole index."""
    table = open_table(lake, "index_partitions")
    return _index_at(lake, str(table.metadata().id), table.version()) if table else None


@lru_cache(maxsize=1)
def _index_at(lake: str, table: str, version: int) -> Index | None:
    """Of this very table: others of its name had other ids."""
    note = next((note for _, note in commit_notes(lake, "index_partitions", version)), None)
    if note is None:
        return None
    roots = read_rows(lake, "index_partitions", where={"index_version": note["index_version"]}, version=version)
    return Index(note["index_version"], note["build"], note["envelope_nodes"], roots.sort_by("partition"), note)


def run(config: Config) -> RunReport:
    report = RunReport("build_index")
    with report.stage("plan"):
        ensure_tables(config.lake, ("envelope_nodes", "index_partitions"))
        index, versions = _state(config.lake)
    if index and index.note["inputs"] == versions and not config.rebuild:
        report.counts = {
            "branches": pc.sum(index.roots.column("branches")).as_py() or 0,
            "index version": index.version,
        }
        return report
    with report.stage("build"), table_lock(config.lake, "index"):
        change = _Change(config, *_state(config.lake))
        change.apply()
    report.counts = {
        "branches": change.branches,
        "inserted": change.inserted,
        "deleted": change.deleted,
        "partitions": change.partitions,
        "index version": change.version,
    }
    return report


def _state(lake: str) -> tuple[Index | None, dict[str, int]]:
    return load_index(lake), {name: require_table(lake, name).version() for name in INPUTS}


def _live(lake: str, versions: dict[str, int]) -> pa.Array:
    """The ids of the patterns that some active profile has."""
    profiles, encoded = (open_version(lake, name, versions[name]) for name in ("profiles", "profile_patterns"))
    return live_patterns(profiles, encoded).combine_chunks()


def _wanted(lake: str, versions: dict[str, int], patterns: pa.Array) -> Longs:
    """The branches that patterns have."""
    version = versions["patterns"]
    lists = read_chosen(lake, "patterns", ["branches"], "pattern_id", patterns, version=version).column(0)
    codes = pc.unique(pc.list_flatten(lists))
    found = read_chosen(lake, "branches", ["branch"], "branch_id", codes, version=versions["branches"]).column(0)
    if len(found) < len(codes) or len(lists) < len(patterns):
        raise DataError("branches_stale", "some patterns have no branches yet", hint="run encode_profiles first")
    return np.unique(found.to_numpy()).astype(np.int64)


def live_patterns(profiles: Any, encoded: Any) -> pa.ChunkedArray:
    """The ids of the patterns that some active profile has."""
    query = """
        SELECT DISTINCT pattern_id FROM encoded JOIN profiles USING (profile_id, profile_version)
        WHERE state = 'active' AND pattern_id IS NOT NULL
    """
    return sql(query, profiles=profiles, encoded=encoded).column(0)


class _Lines(NamedTuple):
    """Some branches, by number."""

    numbers: Longs
    branches: Branches

    def sequences(self, chosen: Longs) -> SequenceSet:
        return self.branches.take(np.searchsorted(self.numbers, chosen)).sequences()


class _Held(NamedTuple):
    """Branches in the trees, their partitions and builds."""

    entries: Longs
    homes: Longs
    builds: Ints


_NOTHING = _Held(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32))


class _Change:
    """One build: which partitions change, and their new rows."""

    def __init__(self, config: Config, index: Index | None, versions: dict[str, int]) -> None:
        self._config, self._old, self._versions = config, index, versions
        self._build = index.build + 1 if index else 1
        self.branches = self.inserted = self.deleted = self.partitions = 0
        self.version = index.version if index else 0
        self._roots: dict[int, dict[str, Any]] = {}
        self._stored: set[int] = set()
        self._open = -1
        self._nodes_version = require_table(config.lake, "envelope_nodes").version()

    def apply(self) -> None:
        lake, versions = self._config.lake, self._versions
        held = self._held()
        is_known = held.entries.size and not self._config.rebuild
        since = profiles_since(lake, versions, seen_by(lake, "index_partitions")) if is_known else None
        if since:
            came = since.encoded.column("pattern_id").drop_null().unique()
            wanted = _wanted(lake, versions, came)
            new, gone = wanted[~np.isin(wanted, held.entries)], np.zeros(0, np.int64)
        else:
            wanted = _wanted(lake, versions, _live(lake, versions))
            new, gone = np.setdiff1d(wanted, held.entries), np.setdiff1d(held.entries, wanted)
        self.inserted, self.deleted = new.size, gone.size
        self.branches = held.entries.size + new.size - gone.size
        if self._config.rebuild or not self._old or new.size + gone.size > held.entries.size // 2:
            self.version += 1
            stays = ~np.isin(held.entries, gone)
            builds = np.concatenate([held.builds[stays], np.full(new.size, self._build, np.int32)])
            self._pack(np.concatenate([held.entries[stays], new]), builds)
        else:
            self._edit_all(held, new, gone)
        self._take_back()
        rows = [self._roots[partition] for partition in sorted(self._roots)]
        note: dict[str, Any] = {"job": "build_index", "run_id": self._config.run_id, "inputs": versions}
        note["seen"] = marks_of(lake, versions)
        note |= {"index_version": self.version, "build": self._build, "open": self._open}
        note["envelope_nodes"] = require_table(lake, "envelope_nodes").version()
        where = {"index_version": self.version}
        parts = write_rows(lake, "index_partitions", pa.Table.from_pylist(rows), where) if rows else []
        with table_lock(lake, "index_partitions"):
            commit_parts(lake, "index_partitions", parts, where, note, replace=True)
        self.partitions = len(rows)

    def _held(self) -> _Held:
        """Nothing, where the trees cannot be read: then all is packed and joined anew."""
        if not self._old:
            return _NOTHING
        where, version = {"index_version": self.version}, self._old.nodes_version
        columns = ["entry", "partition", "build"]
        try:
            rows = read_rows(self._config.lake, "envelope_nodes", columns, where=where, version=version)
        except (DeltaError, FileNotFoundError):  # the log does not reach back so far, or a data file was removed
            return _NOTHING
        entry, partition, build = (rows.column(name).to_numpy() for name in columns)
        own = (entry >= 0) & np.isin(partition, self._old.roots.column("partition").to_numpy())
        return _Held(entry[own].astype(np.int64), partition[own].astype(np.int64), build[own].astype(np.int32))

    def _lines(self, numbers: Longs) -> _Lines:
        columns, wanted = ["branch", "branch_id", "steps"], pa.array(numbers, pa.int32())
        version = self._versions["branches"]
        rows = read_chosen(self._config.lake, "branches", columns, "branch", wanted, version=version)
        return _Lines(np.sort(rows.column("branch").to_numpy()), stored_branches(rows))

    def _pack(self, wanted: Longs, builds: Ints) -> None:
        """Sorted sequences, cut evenly: neighbours share a partition, so root envelopes are tight."""
        lines = self._lines(wanted)
        order = sort_order(sequence_boxes(lines.sequences(wanted)))
        pieces = np.array_split(order, max(1, -(-wanted.size // self._config.partition)))
        for partition, piece in enumerate(pieces):
            tree = EnvelopeTree.bulk_load(lines.sequences(wanted[piece]), ids=wanted[piece].astype(np.int32))
            self._store(partition, tree, wanted[piece], builds[piece])

    def _edit_all(self, held: _Held, new: Longs, gone: Longs) -> None:
        """Few new branches go to the open partition; else they, and those that it has, go where they belong."""
        assert self._old
        self._roots = {row["partition"]: row for row in self._old.roots.to_pylist()}
        self._open = self._old.note.get("open", -1)
        builds = np.full(new.size, self._build, np.int32)
        moved = (held.homes == self._open) & ~np.isin(held.entries, gone)
        if moved.sum() + new.size <= min(self._config.partition, held.entries.size) // OPEN:
            if new.size and self._open not in self._roots:
                self._open = max(self._roots) + 1
            lines, targets = self._lines(new), np.full(new.size, self._open)
        else:
            new, builds = np.concatenate([new, held.entries[moved]]), np.concatenate([builds, held.builds[moved]])
            gone = np.concatenate([gone, held.entries[moved]])
            lines = self._lines(new)
            targets = self._choose(lines.sequences(new))
        for partition in np.unique(np.concatenate([targets, held.homes[np.isin(held.entries, gone)]])).tolist():
            own = targets == partition
            self._edit(partition, lines, _Held(new[own], targets[own], builds[own]), gone)

    def _choose(self, sequences: SequenceSet) -> Longs:
        """For each new branch the partition whose bounds at the lower end hold it, the narrowest, else the nearest."""
        low, high = (ends[sequences.offsets[:-1]].astype(np.float64) for ends in (sequences.low, sequences.high))
        roots = [
            (p, r["low"][0], r["high"][0])
            for p, r in self._roots.items()
            if r["branches"] and r["low"] and p != self._open
        ]
        if not roots:
            return np.zeros(low.size, np.int64)
        partition, lows, highs = (np.array(column, np.float64) for column in zip(*roots, strict=True))
        wider = np.maximum(lows - low[:, None], 0) + np.maximum(high[:, None] - highs, 0)
        best = np.lexsort((np.broadcast_to(highs - lows, wider.shape), wider), axis=1)[:, 0]
        return partition[best].astype(np.int64)

    def _edit(self, partition: int, lines: _Lines, coming: _Held, gone: Longs) -> None:
        new, entries, builds = coming.entries, np.zeros(0, np.int64), np.zeros(0, np.int32)
        sequences = lines.sequences(new)
        if partition in self._roots:
            assert self._old
            rows = self._old.rows(self._config.lake, partition)
            kept = rows.filter(pc.greater_equal(rows.column("entry"), 0))
            entries, builds = kept.column("entry").to_numpy().astype(np.int64), kept.column("build").to_numpy()
        stays = ~np.isin(entries, gone)
        if stays.any():
            tree = load_tree(rows, self._roots[partition]["parameters"])
            tree = tree if stays.all() else delete(tree, entries[~stays].astype(np.int32))
            tree = insert(tree, sequences, ids=new.astype(np.int32)) if new.size else tree
        else:
            tree = EnvelopeTree.bulk_load(sequences, ids=new.astype(np.int32))
        entries = np.concatenate([entries[stays], new])
        builds = np.concatenate([builds[stays], coming.builds]).astype(np.int32)
        if len(tree) <= 2 * self._config.partition:
            self._store(partition, tree, entries, builds)
            return
        lines = self._lines(entries)
        order = sort_order(sequence_boxes(lines.sequences(entries)))
        for target, half in zip((partition, max(self._roots) + 1), np.array_split(order, 2), strict=True):
            tree = EnvelopeTree.bulk_load(lines.sequences(entries[half]), ids=entries[half].astype(np.int32))
            self._store(target, tree, entries[half], builds[half])

    def _store(self, partition: int, tree: EnvelopeTree, entries: Longs, builds: Ints) -> None:
        table, parameters = tree_table(tree, builds, entries.astype(np.int32))
        self._replace(partition, table)
        root = table.slice(0, 1).to_pylist()[0]
        names = ("shortest", "longest", "top", "must", "may", "low", "high", "adjacent")
        self._roots[partition] = {name: root[name] for name in names} | {
            "partition": partition,
            "branches": len(tree),
            "parameters": parameters,
            "build": self._build,
        }

    def _replace(self, partition: int, rows: pa.Table) -> None:
        lake, where = self._config.lake, {"index_version": self.version, "partition": partition}
        note = {"job": "build_index", "run_id": self._config.run_id, "build": self._build}
        parts = write_rows(lake, "envelope_nodes", rows, where) if rows.num_rows else []
        replace_partition(lake, "envelope_nodes", parts, where, note)
        self._stored.add(partition)

    def _take_back(self) -> None:
        """What a build that did not end has left in partitions that this one did not store."""
        lake, old = self._config.lake, self._old
        before = old if old and old.version == self.version else None
        if before and before.nodes_version == self._nodes_version:
            return
        counts = rows_by_partition(lake, "envelope_nodes", "index_version", "partition")
        there = {partition for version, partition in counts if version == self.version}
        for partition in sorted((there | set(self._roots)) - self._stored):
            where = {"index_version": self.version, "partition": partition}
            pinned = before and partition_files(lake, "envelope_nodes", where, version=before.nodes_version)
            if (pinned or []) != partition_files(lake, "envelope_nodes", where):
                self._replace(partition, before.rows(lake, partition) if before and pinned else pa.table({}))
