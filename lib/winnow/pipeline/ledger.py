"""What was answered, and so what is left to ask: events wake the pipeline, these tables decide.

The ledger has, per interval, each batch of documents and the set of profile versions it was asked. What an interval
requires follows from the profiles alone. The difference is the work: pairs to ask, and published rows to take back.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.errors import TransientError
from winnow.lake.sql import sql
from winnow.lake.store import (
    open_version,
    read_rows,
    replace_partition,
    rows_by_partition,
    write_rows,
)

TABLES = ("ledger", "profile_sets", "matches_staged", "matches", "undecided", "deliveries")
SET_COLUMNS = ["profile_id", "profile_version", "subscriber", "destination"]


@dataclass(frozen=True)
class Group:
    """Batches of one interval that were asked the same before, and the profiles they are still to be asked."""

    batches: tuple[str, ...]
    ask: pa.Table  # SET_COLUMNS, class; by profile_id
    asked_before: bool


@dataclass(frozen=True)
class Interval:
    date: dt.date
    profile_set: str  # the name of what is required
    required: pa.Table
    batches: dict[str, int]  # documents of each
    sets: dict[str, pa.Table]  # of what batches will have been asked, by name
    answered: dict[str, str]  # per batch the name of its set
    groups: tuple[Group, ...]
    mode: str  # replace, append, or rewrite: how staged answers become the published ones
    base: str  # the ledger that this was planned on

    @property
    def is_done(self) -> bool:
        return not self.groups and self.mode == "append"


@dataclass(frozen=True)
class Profiles:
    """The encoded profiles at pinned versions."""

    rows: pa.Table  # of profiles, with class; by profile_id

    def required(self, date: dt.date) -> pa.Table:
        """The profile versions that are active and valid on a date, by id."""
        day = pa.scalar(date)
        begun = pc.fill_null(pc.less_equal(self.rows.column("valid_from"), day), True)
        goes_on = pc.fill_null(pc.less(day, self.rows.column("valid_to")), True)
        return self.rows.select([*SET_COLUMNS, "class"]).filter(pc.and_(begun, goes_on))


def load_profiles(lake: str, version: int, encoded: pa.Table) -> Profiles:
    """At this version of `profiles`, with rows of `profile_patterns`."""
    query = """
        SELECT profiles.* EXCLUDE (xpath, namespaces, ordered, state), class FROM profiles
        JOIN encoded USING (profile_id, profile_version)
        WHERE state = 'active' AND class <> 'rejected' AND alternative <= 0 ORDER BY profile_id
    """
    return Profiles(sql(query, profiles=open_version(lake, "profiles", version), encoded=encoded))


def set_name(rows: pa.Table) -> str:
    """A digest of the rows, which are sorted by id."""
    digest = hashlib.sha256()
    for column in SET_COLUMNS:
        values = pc.fill_null(rows.column(column).cast(pa.string()), "\x1e").combine_chunks()
        digest.update(pc.binary_join(pa.LargeListArray.from_arrays([0, len(values)], values), "\x1f")[0].as_buffer())
    return digest.hexdigest()[:16]


def plan(
    lake: str, dates: Iterable[dt.date], profiles: Profiles, *, encoded: int, full: bool = False, only: str = "*"
) -> list[Interval]:
    """The work of each interval, whose documents are those of version `encoded` of encoded_documents.

    `full` asks everything again, and so does an interval whose documents were encoded anew in other batches; `only`
    asks just those profiles, by id (a glob).
    """
    ledger = read_rows(lake, "ledger")
    before: dict[str, pa.Table] = {}

    def asked_in(name: str) -> pa.Table:
        if name not in before:
            before[name] = read_rows(lake, "profile_sets", SET_COLUMNS, where={"profile_set": name})
        return before[name]

    intervals = []
    for date in dates:
        required = profiles.required(date)
        known = ledger.filter(pc.equal(ledger.column("match_date"), pa.scalar(date)))
        old = {row["batch"]: row["profile_set"] for row in known.to_pylist()}
        batches = documents_by_batch(lake, date, encoded)
        if full or not old.keys() <= batches.keys():
            old = {}
        intervals.append(_interval(date, required, batches, old, asked_in, only=only))
        mode = intervals[-1].mode if old else "replace"
        intervals[-1] = replace(intervals[-1], mode=mode, base=fingerprint(known))
    return intervals


def _interval(
    date: dt.date,
    required: pa.Table,
    batches: dict[str, int],
    old: dict[str, str],
    asked_in: Callable[[str], pa.Table],
    *,
    only: str,
) -> Interval:
    name = set_name(required)
    sets = {name: required}
    groups: list[Group] = []
    answered: dict[str, str] = {}
    mode = "append"
    for past in sorted({old.get(batch, "") for batch in batches} | set(old.values())):
        own = tuple(batch for batch in batches if old.get(batch, "") == past)
        after = name
        if past != name:
            ask, is_stale = difference(required, asked_in(past)) if past else (required, False)
            mode = "rewrite" if is_stale else mode
            if only != "*":
                chosen = _like(ask, only)
                rows = _without(required, ask.filter(pc.invert(pc.is_in(ask.column(0), value_set=chosen.column(0)))))
                ask, after = chosen, set_name(rows)
                sets[after] = rows
            if own and ask.num_rows:
                groups.append(Group(own, ask, asked_before=bool(past)))
        answered |= dict.fromkeys(own, after)
    if mode == "append" and not groups and answered != {batch: old.get(batch) for batch in batches}:
        mode = "rewrite"  # nothing to ask, but the ledger has to say so
    return Interval(date, name, required, batches, sets, answered, tuple(groups), mode, "")


def _like(rows: pa.Table, glob: str) -> pa.Table:
    return sql("SELECT * FROM rows WHERE profile_id GLOB $1 ORDER BY profile_id", [glob], rows=rows)


def _without(rows: pa.Table, gone: pa.Table) -> pa.Table:
    return rows.filter(pc.invert(pc.is_in(rows.column("profile_id"), value_set=gone.column("profile_id"))))


def documents_by_batch(lake: str, date: dt.date, version: int) -> dict[str, int]:
    counts = rows_by_partition(lake, "encoded_documents", "ingest_date", "batch", version=version)
    return {batch: count for (day, batch), count in sorted(counts.items()) if day == date}


def difference(required: pa.Table, before: pa.Table) -> tuple[pa.Table, bool]:
    """What is required but was not asked before; and whether something published is no longer as required.

    Both have a profile once.
    """
    at = pc.index_in(required.column("profile_id"), value_set=before.column("profile_id"))

    def same(name: str) -> pa.ChunkedArray:
        now, then = required.column(name), before.column(name).take(at)
        return pc.coalesce(pc.equal(now, then), pc.and_(pc.is_null(now), pc.is_null(then)))

    known = pc.and_(pc.is_valid(at), same("profile_version"))
    kept = pc.and_(known, pc.and_(same("subscriber"), same("destination")))
    return required.filter(pc.invert(known)), (pc.sum(kept).as_py() or 0) < before.num_rows


def fingerprint(known: pa.Table) -> str:
    """Names the state of one interval's ledger."""
    rows = sorted((row["batch"], row["profile_set"], row["staged_version"]) for row in known.to_pylist())
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def require_base(known: pa.Table, date: dt.date, note: Mapping[str, Any]) -> None:
    """What was staged with this note adds to the interval's ledger as it was then; refused when it has moved since."""
    if fingerprint(known) != note["base"]:
        raise TransientError(
            "interval_moved",
            f"another run has published {date} since this one was planned",
            hint="run it again: it will ask only what is still open",
        )


def keep_set(lake: str, name: str, rows: pa.Table, run: dict[str, Any]) -> None:
    """Store a set of profile versions under its name, once."""
    partition = {"profile_set": name}
    if not rows.num_rows or rows_by_partition(lake, "profile_sets", "profile_set")[name,]:
        return
    parts = write_rows(lake, "profile_sets", rows.select(SET_COLUMNS), partition)
    replace_partition(lake, "profile_sets", parts, partition, run)


def enter(lake: str, date: dt.date, note: dict[str, Any], *, staged_version: int, matches_version: int) -> None:
    """Write the ledger of an interval as its staged commit says; this is the last step of publishing."""
    batches: dict[str, int] = note["batches"]
    count = len(batches)
    rows = pa.table(
        {
            "batch": pa.array(list(batches), pa.string()),
            "documents": np.array(list(batches.values()), np.int64),
            "profile_set": pa.array([note["answered"][batch] for batch in batches], pa.string()),
            "staged_version": np.full(count, staged_version, np.int64),
            "matches_version": np.full(count, matches_version, np.int64),
            "run_id": [note["run_id"]] * count,
        }
    )
    parts = write_rows(lake, "ledger", rows, {"match_date": date}) if count else []
    run = {"job": "publish_matches", "run_id": note["run_id"], "staged_version": staged_version}
    replace_partition(lake, "ledger", parts, {"match_date": date}, run)
