"""What is to be published, and what was asked, looked up for single documents and profiles."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

import pyarrow as pa

from winnow.lake.store import open_table, read_rows
from winnow.quality.oracle import Profile
from winnow.quality.outcome import Outcome
from winnow.quality.rows import open_outcome


class Some(NamedTuple):
    """Pairs of document and profile."""

    answers: dict[str, set[int]]  # profiles that a document satisfies, as is to be published
    published: set[tuple[str, int]]  # those of them that are not new
    undecided: set[tuple[str, int]]
    unasked: dict[str, frozenset[int]]  # profiles that a document is to be asked later


class Answers:
    """`profiles` are the versions that were asked, see `Interval.profiles`; `encoded` are documents and batches."""

    def __init__(self, outcome: Outcome, profiles: pa.Table, encoded: pa.Table) -> None:
        self._outcome, self._profiles = outcome, profiles
        self._database = open_outcome(outcome, profiles=profiles, encoded=encoded)
        self._database.execute(
            """
            CREATE VIEW answers AS SELECT document_id, number, class, is_new FROM (
                SELECT document_id, profile_id, profile_version, true AS is_new FROM staged
                UNION ALL SELECT document_id, profile_id, profile_version, false AS is_new FROM published
            ) JOIN profiles USING (profile_id, profile_version)
            """
        )

    def counts(self, documents: Collection[str]) -> dict[str, dict[str, int]]:
        """Per class and document, how many profiles it satisfies."""
        self._choose(documents)
        query = "SELECT class, document_id, count(*) FROM answers SEMI JOIN chosen USING (document_id) GROUP BY ALL"
        found: dict[str, dict[str, int]] = {}
        for name, document, count in self._database.execute(query).fetchall():
            found.setdefault(name, {})[document] = count
        return found

    def some(self, documents: Collection[str]) -> Some:
        self._choose(documents)
        query = "SELECT document_id, number, is_new FROM answers SEMI JOIN chosen USING (document_id)"
        found: dict[str, set[int]] = {}
        published = set()
        for document, number, is_new in self._database.execute(query).fetchall():
            found.setdefault(document, set()).add(number)
            if not is_new:
                published.add((document, number))
        return Some(found, published, self._undecided(), self._unasked())

    def _choose(self, documents: Collection[str]) -> None:
        self._database.register("chosen", pa.table({"document_id": pa.array(sorted(documents), pa.string())}))

    def _undecided(self) -> set[tuple[str, int]]:
        outcome = self._outcome
        if open_table(outcome.lake, "undecided") is None:
            return set()
        where = {"match_date": outcome.date}
        self._database.register("undecided", read_rows(outcome.lake, "undecided", where=where))
        query = """
            SELECT document_id, number FROM undecided SEMI JOIN chosen USING (document_id)
            JOIN profiles USING (profile_id, profile_version)
        """
        return set(self._database.execute(query).fetchall())

    def _unasked(self) -> dict[str, frozenset[int]]:
        note = self._outcome.note
        answered: Mapping[str, str] = note["answered"]
        later: dict[str, frozenset[int]] = {}
        for name in set(answered.values()) - {note["profile_set"]}:
            asked = read_rows(self._outcome.lake, "profile_sets", where={"profile_set": name})
            self._database.register("asked", asked)
            rows = self._database.execute(
                "SELECT number FROM profiles ANTI JOIN asked USING (profile_id, profile_version)"
            ).fetchall()
            later[name] = frozenset(number for (number,) in rows)
        if not later:
            return {}
        batches = self._database.execute("SELECT document_id, batch FROM encoded SEMI JOIN chosen USING (document_id)")
        named = ((document, answered.get(batch, "")) for document, batch in batches.fetchall())
        return {document: later[name] for document, name in named if name in later}

    def questions(self, numbers: Collection[int]) -> dict[int, Profile]:
        """What profiles ask, by their number."""
        keys = self._profiles.take(pa.array(sorted(numbers), pa.int64()))
        self._database.register("wanted", keys)
        columns = ["profile_id", "profile_version", "xpath", "namespaces", "ordered"]
        self._database.register("texts", self._outcome.rows("profiles", columns))
        query = """
            SELECT number, xpath, namespaces, ordered FROM wanted JOIN texts USING (profile_id, profile_version)
            ORDER BY number
        """
        rows = self._database.execute(query).to_arrow_table().to_pylist()
        return {row["number"]: Profile(row["xpath"], dict(row["namespaces"]), row["ordered"]) for row in rows}

    def name(self, number: int) -> str:
        profile = self._profiles.slice(number, 1).to_pylist()[0]
        return f"{profile['profile_id']} version {profile['profile_version']}"
