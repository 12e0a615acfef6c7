"""Whether everything of the interval was asked: its documents, its profiles. Counts that must add up."""

from typing import Any

import duckdb
import pyarrow as pa

from winnow.lake.store import open_table, read_rows, state
from winnow.quality.facts import Facts
from winnow.quality.outcome import Outcome

_SEARCHED = 20_000_000  # documents of other intervals through which one is looked for


class Interval:
    """The tables of one interval, as the run has seen them, in one database."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._database = duckdb.connect()
        day = {"ingest_date": outcome.date}
        self.documents = outcome.rows("documents", ["document_id"], day)
        self.encoded = outcome.rows("encoded_documents", ["document_id", "batch"], day)
        self.asked = read_rows(outcome.lake, "profile_sets", where={"profile_set": outcome.note["profile_set"]})
        self._register("documents", self.documents)
        self._register("encoded", self.encoded)
        self._register("sources", outcome.rows("document_sources", ["document_id"], day))
        self._register("asked", self.asked)
        active = ["profile_id", "profile_version", "state", "valid_from", "valid_to"]
        self._register("profiles", outcome.rows("profiles", active))
        self._register("patterns", outcome.rows("profile_patterns", ["profile_id", "profile_version", "class"]))

    def _register(self, name: str, rows: Any) -> None:
        self._database.register(name, rows)

    def _list(self, query: str, **values: Any) -> list[str]:
        return [str(row[0]) for row in self._database.execute(query, values or None).fetchall()]

    def document_facts(self) -> Facts:
        """Of documents and batches."""
        facts = Facts()
        batches: dict[str, int] = self._outcome.note["batches"]
        self._register("batches", pa.table({"batch": pa.array(list(batches), pa.string())}))
        self._database.execute("CREATE VIEW in_batch AS SELECT * FROM encoded SEMI JOIN batches USING (batch)")
        facts.count(
            "missing_documents", self._list("SELECT document_id FROM documents ANTI JOIN in_batch USING (document_id)")
        )
        stray = """
            SELECT document_id FROM in_batch ANTI JOIN documents USING (document_id)
            UNION ALL SELECT document_id FROM in_batch GROUP BY document_id HAVING count(*) > 1
        """
        facts.count("stray_documents", self._list(stray))
        facts.count("broken_batches", _broken_batches(self.encoded, batches))
        facts.count(
            "sourceless_documents",
            self._list("SELECT document_id FROM documents ANTI JOIN sources USING (document_id)"),
        )
        return facts

    def conserved(self, matched: int | None) -> Facts:
        """Documents in = matched + unmatched + quarantined."""
        outcome, facts = self._outcome, Facts()
        has_quarantine = open_table(outcome.lake, "quarantine") is not None
        day = {"ingest_date": outcome.date}
        quarantined = (
            read_rows(outcome.lake, "quarantine", ["quarantine_id"], where=day).num_rows if has_quarantine else 0
        )
        # What was seen today, and is not a document of an earlier interval.
        new = set(self._list("SELECT DISTINCT document_id FROM sources ANTI JOIN documents USING (document_id)"))
        strangers = new - self._elsewhere(new)
        stored = len(self._list("SELECT DISTINCT document_id FROM sources SEMI JOIN documents USING (document_id)"))
        documents_in = stored + len(strangers) + quarantined
        facts.numbers["documents_in"] = documents_in
        if matched is None:
            facts.absent("unaccounted_documents")
            return facts
        unmatched = sum(outcome.note["batches"].values()) - matched
        facts.numbers["unaccounted_documents"] = abs(documents_in - (matched + unmatched + quarantined))
        words = f"{documents_in} in; {matched} matched, {unmatched} unmatched, {quarantined} quarantined"
        facts.examples["documents_in"] = [words]
        facts.examples["unaccounted_documents"] = [words, *sorted(strangers)[:3]]
        return facts

    def _elsewhere(self, wanted: set[str]) -> set[str]:
        """Those that are documents of other intervals; all, where there are too many to look through."""
        found = state(self._outcome.lake, "documents") if wanted else None
        if found is None or found.rows > _SEARCHED:
            return wanted
        table = open_table(self._outcome.lake, "documents")
        assert table is not None
        self._register("every", table.to_pyarrow_dataset().scanner(columns=["document_id"]))
        self._register("wanted", pa.table({"document_id": sorted(wanted)}))
        return set(self._list("SELECT document_id FROM every SEMI JOIN wanted USING (document_id)"))

    def profile_facts(self) -> Facts:
        """Of the set of profile versions that was asked, beside the one that profiles and their encoding require."""
        facts = Facts()
        self._database.execute(
            """
            CREATE VIEW usable AS SELECT DISTINCT profile_id, profile_version FROM patterns WHERE class <> 'rejected';
            CREATE VIEW active AS SELECT profile_id, profile_version, valid_from, valid_to FROM profiles
            WHERE state = 'active';
            """
        )
        required = """
            SELECT profile_id, profile_version FROM active SEMI JOIN usable USING (profile_id, profile_version)
            WHERE coalesce(valid_from <= $date, true) AND coalesce($date < valid_to, true)
        """
        named = "profile_id || ' version ' || profile_version"
        key = "USING (profile_id, profile_version)"
        date = self._outcome.date
        facts.count("unusable_profiles", self._list(f"SELECT {named} FROM asked ANTI JOIN usable {key}"))
        facts.count(
            "unasked_profiles", self._list(f"SELECT {named} FROM ({required}) ANTI JOIN asked {key}", date=date)
        )
        facts.count(
            "needless_profiles", self._list(f"SELECT {named} FROM asked ANTI JOIN ({required}) r {key}", date=date)
        )
        facts.count("unencoded_profiles", self._list(f"SELECT {named} FROM active ANTI JOIN patterns {key}"))
        return facts

    def profiles(self) -> pa.Table:
        """The versions that were asked: profile_id, profile_version, class and number, which is the row's place."""
        rows = self._database.execute(
            """
            SELECT profile_id, profile_version, any_value(class) AS class
            FROM asked JOIN patterns USING (profile_id, profile_version)
            WHERE class <> 'rejected' GROUP BY profile_id, profile_version ORDER BY profile_id, profile_version
            """
        ).to_arrow_table()
        return rows.append_column("number", pa.array(range(rows.num_rows), pa.int64()))


def _broken_batches(encoded: pa.Table, batches: dict[str, int]) -> list[str]:
    """A batch is named after its documents, so its name tells whether they are still the same."""
    from winnow.pipeline.encode_documents import batch_name

    broken = []
    held: dict[str, list[str]] = {name: [] for name in batches}
    for name, document in zip(
        encoded.column("batch").to_pylist(), encoded.column("document_id").to_pylist(), strict=True
    ):
        held.setdefault(name, []).append(document)
    for name, documents in held.items():
        if batches.get(name) != len(documents):
            broken.append(f"batch {name} has {len(documents)} documents, the run knew of {batches.get(name, 'none')}")
        elif name != batch_name(pa.array(documents, pa.string())):
            broken.append(f"batch {name} holds other documents than it was made of")
    return broken
