"""What was answered, and so what is left to ask: events wake the pipeline, these tables decide.

The ledger has, per interval, each batch of documents and the set of profile versions it was asked. What an interval
requires follows from the profiles alone. The difference is the work: pairs to ask, and published rows to take back.
"""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.errors import TransientError
from winnow.lake.parts import copy_part
from winnow.lake.sql import sql
from winnow.lake.store import (
    commit_note,
    partition_files,
    read_rows,
    replace_partition,
    rows_by_partition,
    write_rows,
)
from winnow.pipeline.profiles import SET_COLUMNS, Profiles
from winnow.pipeline.set_names import set_name

TABLES = ("ledger", "profile_sets", "matches_staged", "matches", "undecided", "deliveries")


@dataclass(frozen=True)
class Group:
    """Batches of one interval that were asked the same before, and the profiles they are still to be asked."""

    batches: tuple[str, ...]
    ask: pa.Table  # rows of Profiles, with patterns
    asked_before: bool


class ProfileSet(NamedTuple):
    """What batches will have been asked."""

    rows: pa.Table
    base: str = ""  # they come on top of this set, which is stored


@dataclass(frozen=True)
class Interval:
    date: dt.date
    profile_set: str  # the name of what is required
    batches: dict[str, int]  # documents of each
    sets: dict[str, ProfileSet]  # by name
    answered: dict[str, str]  # per batch the name of its set
    groups: tuple[Group, ...]
    mode: str  # replace, append, or rewrite: how staged answers become the published ones
    base: str  # the ledger that this was planned on

    @property
    def is_done(self) -> bool:
        return not self.groups and self.mode == "append"


def plan(
    lake: str, dates: Iterable[dt.date], profiles: Profiles, *, encoded: int, full: bool = False, only: str = "*"
) -> list[Interval]:
    """The work of each interval, whose documents are those of version `encoded` of encoded_documents.

    `full` asks everything again, and so does an interval whose documents were encoded anew in other batches; `only`
    asks just those profiles, by id (a glob). Where only new profiles came, the others are not looked at.
    """
    ledger = read_rows(lake, "ledger")
    before: dict[str, pa.Table] = {}

    def asked_in(name: str) -> pa.Table:
        if name not in before:
            before[name] = read_rows(lake, "profile_sets", SET_COLUMNS, where={"profile_set": name})
        return before[name]

    intervals = []
    for date in dates:
        known = ledger.filter(pc.equal(ledger.column("match_date"), pa.scalar(date)))
        old = {row["batch"]: row["profile_set"] for row in known.to_pylist()}
        batches = documents_by_batch(lake, date, encoded)
        if full or not old.keys() <= batches.keys():
            old = {}
        came = _came(lake, date, profiles, known) if only == "*" and old.keys() == batches.keys() else None
        if came is not None:
            interval = _grown(date, came, batches, old)
        else:
            interval = _interval(date, profiles, batches, old, asked_in, only=only)
        mode = interval.mode if old else "replace"
        intervals.append(replace(interval, mode=mode, base=fingerprint(known)))
    return intervals


def _came(lake: str, date: dt.date, profiles: Profiles, known: pa.Table) -> pa.Table | None:
    """The profiles that the interval requires beside those that all of its batches were asked; None: no telling."""
    entries = known.select(["profile_set", "staged_version"]).group_by(["profile_set", "staged_version"]).aggregate([])
    if entries.num_rows != 1:
        return None
    (entry,) = entries.to_pylist()
    note = commit_note(lake, "matches_staged", entry["staged_version"])
    told = note.get("date"), note.get("profile_set")
    if told != (str(date), entry["profile_set"]) or not _is_stored(lake, entry["profile_set"]):
        return None
    return profiles.came(date, note.get("seen", {}))


def _grown(date: dt.date, came: pa.Table, batches: dict[str, int], old: dict[str, str]) -> Interval:
    """More is required than all batches were asked."""
    (past,) = set(old.values())
    name = set_name(came, past)
    sets = {name: ProfileSet(came, past)} if came.num_rows else {}
    groups = (Group(tuple(batches), came, asked_before=True),) if came.num_rows else ()
    return Interval(date, name, batches, sets, dict.fromkeys(batches, name), groups, "append", "")


def _interval(
    date: dt.date,
    profiles: Profiles,
    batches: dict[str, int],
    old: dict[str, str],
    asked_in: Callable[[str], pa.Table],
    *,
    only: str,
) -> Interval:
    required = profiles.required(date)
    name = set_name(required)
    sets = {name: ProfileSet(required)}
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
                sets[after] = ProfileSet(rows)
            if own and ask.num_rows:
                groups.append(Group(own, profiles.with_patterns(ask), asked_before=bool(past)))
        answered |= dict.fromkeys(own, after)
    if mode == "append" and not groups and answered != {batch: old.get(batch) for batch in batches}:
        mode = "rewrite"  # nothing to ask, but the ledger has to say so
    return Interval(date, name, batches, sets, answered, tuple(groups), mode, "")


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


def keep_set(lake: str, name: str, kept: ProfileSet, run: dict[str, Any]) -> None:
    """Store a set of profile versions under its name, once."""
    if not kept.rows.num_rows or _is_stored(lake, name):
        return
    partition = {"profile_set": name}
    parts = [
        copy_part(lake, uri, "profile_sets", partition)
        for uri in (partition_files(lake, "profile_sets", {"profile_set": kept.base}) if kept.base else [])
    ]
    parts += write_rows(lake, "profile_sets", kept.rows.select(SET_COLUMNS), partition)
    replace_partition(lake, "profile_sets", parts, partition, run)


def _is_stored(lake: str, name: str) -> bool:
    return rows_by_partition(lake, "profile_sets", "profile_set")[name,] > 0


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
