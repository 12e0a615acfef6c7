"""The profiles that plans are about: active ones that were encoded, at pinned versions of both tables.

A plan that was made before names what it saw. Where only new profiles came since, they are all that is read: a backfill
of a few costs the same beside a thousand others and beside a million.
"""

import datetime as dt
import json
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.lake.sql import sql
from winnow.lake.store import mark, open_version, read_rows, rows_since

_TABLES = ("profiles", "profile_patterns")
SET_COLUMNS = ["profile_id", "profile_version", "subscriber", "destination"]
_COLUMNS = [*SET_COLUMNS, "valid_from", "valid_to", "state"]
_ENCODED = ["profile_id", "profile_version", "class", "alternative", "pattern_id"]


class Profiles:
    """Rows are SET_COLUMNS and class, by profile_id."""

    def __init__(self, lake: str, versions: Mapping[str, int]) -> None:
        self._lake = lake
        self._versions = {name: versions[name] for name in _TABLES}

    def required(self, date: dt.date) -> pa.Table:
        """The profile versions that are active and valid on a date."""
        return _on(date, self._all)

    def with_patterns(self, rows: pa.Table) -> pa.Table:
        """The same profiles, each with the list of its alternatives' patterns."""
        return _with_patterns(rows, self._encoded)

    @cached_property
    def _all(self) -> pa.Table:
        return _joined(open_version(self._lake, "profiles", self._versions["profiles"]), self._encoded)

    @cached_property
    def _encoded(self) -> pa.Table:
        return read_rows(self._lake, "profile_patterns", _ENCODED, version=self._versions["profile_patterns"])

    def marks(self) -> dict[str, Any]:
        """Name what is seen here, for the note of a plan."""
        return marks_of(self._lake, self._versions)

    def came(self, date: dt.date, seen: Mapping[str, Any]) -> pa.Table | None:
        """What is required beside what a plan that saw this required, with patterns; None: there may be more to it."""
        since = profiles_since(self._lake, self._versions, seen)
        return _with_patterns(_on(date, since.profiles), since.encoded) if since else None


class Since(NamedTuple):
    """New profiles, all of them active, and their encodings."""

    profiles: pa.Table
    encoded: pa.Table


def profiles_since(lake: str, versions: Mapping[str, int], seen: Mapping[str, Any]) -> Since | None:
    """What came after these marks of both tables; None: it is not just that.

    New profiles have new encodings, and new encodings are those of new profiles: else an old one may be meant.
    """
    before, now = {name: seen.get(name) for name in _TABLES}, marks_of(lake, versions)
    return _since(lake, json.dumps(before), json.dumps(now))


def marks_of(lake: str, versions: Mapping[str, int]) -> dict[str, Any]:
    """Name both tables at their versions, for `profiles_since` of a later run."""
    return {name: mark(lake, name, versions[name]) for name in _TABLES}


@lru_cache(maxsize=1)  # the jobs of a run ask the same
def _since(lake: str, before: str, now: str) -> Since | None:
    """Of marks as JSON."""
    seen, marks = json.loads(before), json.loads(now)
    profiles = rows_since(lake, "profiles", _COLUMNS, seen, marks["profiles"]["version"])
    encoded = rows_since(lake, "profile_patterns", _ENCODED, seen, marks["profile_patterns"]["version"])
    if not (profiles.is_grown and encoded.is_grown):
        return None
    rows = _joined(profiles.rows, encoded.rows)
    firsts = pc.sum(pc.less_equal(encoded.rows.column("alternative"), 0)).as_py() or 0
    return Since(rows, encoded.rows) if rows.num_rows == profiles.rows.num_rows == firsts else None


def _joined(profiles: Any, encoded: pa.Table) -> pa.Table:
    """Active profiles with their classes."""
    query = f"""
        SELECT {", ".join(_COLUMNS)}, class FROM profiles JOIN encoded USING (profile_id, profile_version)
        WHERE state = 'active' AND alternative <= 0 ORDER BY profile_id
    """
    return sql(query, profiles=profiles, encoded=encoded)


def _on(date: dt.date, rows: pa.Table) -> pa.Table:
    """Of what was joined, those that are valid then and were not rejected."""
    day = pa.scalar(date)
    accepted = pc.not_equal(rows.column("class"), "rejected")
    begun = pc.fill_null(pc.less_equal(rows.column("valid_from"), day), True)
    goes_on = pc.fill_null(pc.less(day, rows.column("valid_to")), True)
    return rows.select([*SET_COLUMNS, "class"]).filter(pc.and_(accepted, pc.and_(begun, goes_on)))


def _with_patterns(rows: pa.Table, encoded: pa.Table) -> pa.Table:
    slot = pc.index_in(encoded.column("profile_id"), value_set=rows.column("profile_id").combine_chunks())
    encoded = encoded.append_column("slot", slot).filter(pc.is_valid(slot))
    slots, versions, numbers = (encoded.column(n).to_numpy() for n in ("slot", "profile_version", "alternative"))
    own = (versions == rows.column("profile_version").to_numpy()[slots]) & (numbers >= 0)
    order = np.lexsort((numbers[own], slots[own]))
    ends = np.concatenate([[0], np.cumsum(np.bincount(slots[own], minlength=rows.num_rows))]).astype(np.int32)
    patterns = encoded.column("pattern_id").combine_chunks().filter(pa.array(own)).take(pa.array(order))
    return rows.append_column("patterns", pa.ListArray.from_arrays(pa.array(ends), patterns))
