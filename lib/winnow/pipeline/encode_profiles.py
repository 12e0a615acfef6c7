"""Encode the profile versions that are not encoded yet.

Reads: profiles. Writes: patterns, profile_patterns (one row per alternative, or one that says why it was rejected),
vocabulary, branches.

Parsing is Python, so many profiles are shared out to the workers. Patterns and branches are named by their content:
encoding twice, or after a kill, adds nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from winnow.index.lines import branches_of
from winnow.index.patterns import to_rows
from winnow.jobs.report import RunReport
from winnow.lake.contracts import load_contract
from winnow.lake.locks import table_lock
from winnow.lake.parts import Part, PartWriter, arrow_schema
from winnow.lake.session import driver_host
from winnow.lake.sql import sql
from winnow.lake.store import (
    adopt,
    commit_parts,
    ensure_tables,
    mark,
    read_rows,
    require_table,
    rows_since,
    seen_by,
    write_rows,
)
from winnow.pipeline.progress import Progress
from winnow.pipeline.words import add_labels
from winnow.xpath import Rejected, compile_profile

SHARE = 2000  # profiles of one piece of work; fewer are encoded by the driver


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    run_id: str


class Outcome(NamedTuple):
    parts: list[Part]
    classes: dict[str, int]


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("encode_profiles")
    lake = config.lake
    with report.stage("plan"):
        ensure_tables(lake, ("vocabulary", "patterns", "profile_patterns", "branches"))
        version = require_table(lake, "profiles").version()
        todo = unencoded(lake, version)
        note = {"job": "encode_profiles", "run_id": config.run_id, "inputs": {"profiles": version}}
        note["seen"] = {"profiles": mark(lake, "profiles", version)}
    with report.stage("compile"):
        done = _compile(spark, lake, todo)
    with report.stage("commit"):
        parts = sorted(part for outcome in done for part in outcome.parts)
        new = {
            table: adopt(lake, table, [part for part in parts if part.table == table], {}, note)
            for table in ("patterns", "profile_patterns")
        }
    with report.stage("branches"):
        branches = add_branches(lake, note)
    classes = {name: sum(outcome.classes.get(name, 0) for outcome in done) for name in ("native", "hybrid", "rejected")}
    report.counts = {"profiles": todo.num_rows, **classes, "new patterns": new["patterns"], "new branches": branches}
    return report


def unencoded(lake: str, version: int) -> pa.Table:
    """The active profile versions without patterns, by id.

    The last run had encoded all that it saw. What came since as new rows needs no comparison: adoption refuses what
    another run encodes meanwhile.
    """
    columns = ["profile_id", "profile_version", "xpath", "namespaces", "ordered"]
    seen = seen_by(lake, "profile_patterns")
    came = rows_since(lake, "profiles", [*columns, "state"], seen, version)
    active = came.rows.filter(pc.equal(came.rows.column("state"), "active")).select(columns)
    if came.is_grown:
        return active.sort_by("profile_id")
    query = "SELECT * FROM active ANTI JOIN encoded USING (profile_id, profile_version) ORDER BY profile_id"
    return sql(query, active=active, encoded=require_table(lake, "profile_patterns"))


def _compile(spark: SparkSession, lake: str, todo: pa.Table) -> list[Outcome]:
    if todo.num_rows <= SHARE:
        return [encode(lake, [todo], lambda _: None)] if todo.num_rows else []
    pieces = [todo.slice(start, SHARE) for start in range(0, todo.num_rows, SHARE)]
    context = spark.sparkContext
    with Progress("compiling", host=driver_host(spark), unit="profiles") as channel:
        work = context.parallelize([_packed(piece) for piece in pieces], context.defaultParallelism * 2)
        return work.mapPartitions(lambda own: [encode(lake, map(_unpacked, own), channel.tell)]).collect()


def encode(lake: str, pieces: Iterable[pa.Table], tell: Callable[[int], None]) -> Outcome:
    """Compile profiles and write what becomes of them, in one file for each table. No Spark here."""
    writers = [PartWriter(lake, load_contract(table), {}) for table in ("patterns", "profile_patterns")]
    classes: Counter[str] = Counter()
    for profiles in pieces:
        for writer, rows in zip(writers, compiled(profiles, classes), strict=True):
            writer.write(rows)
        tell(profiles.num_rows)
    return Outcome([part for writer in writers for part in writer.close()], dict(classes))


def compiled(profiles: pa.Table, classes: Counter[str]) -> tuple[pa.Table, pa.Table]:
    """The rows of patterns and of profile_patterns; `classes` are counted."""
    rows: list[tuple[Any, ...]] = []
    patterns: list[Any] = []
    places: list[int] = []  # rows that want the id of a pattern
    for profile in profiles.to_pylist():
        key = profile["profile_id"], profile["profile_version"]
        try:
            found = compile_profile(profile["xpath"], dict(profile["namespaces"]), ordered=profile["ordered"])
        except Rejected as rejected:
            rows.append((*key, "rejected", -1, rejected.code, rejected.column, rejected.message))
            classes["rejected"] += 1
            continue
        name = found.klass.value
        classes[name] += 1
        why = found.reasons[0] if found.reasons else None
        words = (why.code, why.column, why.message) if why else (None, 0, None)
        for number, pattern in enumerate(found.alternatives):
            places.append(len(rows))
            patterns.append(pattern)
            rows.append((*key, name, number, *words))
        if not found.alternatives:
            rows.append((*key, name, -1, *words))
    table = to_rows(patterns)
    ids = np.zeros(len(rows), np.int64)
    ids[places] = table.column("pattern_id").to_numpy()
    missing = np.ones(len(rows), np.bool_)
    missing[places] = False
    columns = [*zip(*rows, strict=True)]
    columns.insert(4, pa.array(ids, mask=missing))
    schema = arrow_schema(load_contract("profile_patterns"))
    encoded = pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
    wanted = arrow_schema(load_contract("patterns"))
    return table.select(wanted.names).cast(wanted), encoded


def add_branches(lake: str, note: dict[str, Any]) -> int:
    """Number the branches of the patterns that came since last time; how many are new."""
    version = require_table(lake, "patterns").version()
    with table_lock(lake, "branches"):
        seen = seen_by(lake, "branches")
        patterns = rows_since(lake, "patterns", ["branches", "twig", "labels", "tests"], seen, version).rows
        lists = patterns.column("branches").combine_chunks()
        codes = lists.flatten()
        known = read_rows(lake, "branches", ["branch_id"]).column(0) if len(codes) else pa.array([], pa.int64())
        is_unknown = pc.invert(pc.is_in(codes, value_set=known))
        rows = patterns.take(lists.value_parent_indices().filter(is_unknown).unique())
        if not rows.num_rows:
            return 0
        vocabulary = add_labels(lake, rows.column("labels").combine_chunks().flatten().unique().to_pylist(), note)
        found = branches_of(rows, vocabulary)
        is_new = pc.is_in(pa.array(found.codes), value_set=codes.filter(is_unknown))
        new = found.take(np.flatnonzero(is_new.to_numpy(zero_copy_only=False)))
        steps = pa.ListArray.from_arrays(pa.array(new.ends.astype(np.int32)), pa.array(new.steps))
        numbers = np.arange(len(known), len(known) + len(new), dtype=np.int32)
        columns = {"branch": numbers, "branch_id": new.codes, "line": new.texts(vocabulary), "steps": steps}
        parts = write_rows(lake, "branches", pa.table(columns)) if len(new) else []
        commit_parts(lake, "branches", parts, {}, {**note, "seen": {"patterns": mark(lake, "patterns", version)}})
    return len(new)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _unpacked(data: bytes) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
