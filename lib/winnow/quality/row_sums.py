"""Sums over the answers: duplicates, references, and the suite's own rules. Few columns are read, and each but once."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from winnow.quality.facts import Facts
from winnow.quality.outcome import Outcome
from winnow.quality.rows import open_outcome

SUMS = (
    "staged_rows",
    "published_rows",
    "matched_documents",
    "repeated_keys",
    "published_keys",
    "unknown_documents",
    "unknown_profiles",
)
_EXAMPLES = 3


def row_sums(outcome: Outcome, rules: Mapping[str, str], *, encoded: pa.Table, asked: pa.Table) -> Facts:
    """The facts named in SUMS, and one for each rule: how many staged rows satisfy it.

    `encoded` has the documents of the interval, `asked` the profile versions.
    """
    database = open_outcome(outcome, encoded=encoded, asked=asked)
    still = "SEMI JOIN asked USING (profile_id, profile_version)" if outcome.rewrites else ""
    database.execute(
        f"""
        CREATE VIEW kept AS SELECT document_id, profile_id, profile_version FROM published {still};
        CREATE VIEW every AS SELECT document_id, profile_id, profile_version FROM staged UNION ALL FROM kept;
        CREATE TABLE by_document AS SELECT document_id, count(*) AS rows FROM every GROUP BY ALL;
        CREATE TABLE by_profile AS SELECT profile_id, profile_version, count(*) AS rows FROM every GROUP BY ALL;
        """
    )
    facts = Facts()
    _rules(database, rules, facts)
    _keys(database, outcome, facts)
    _references(database, facts)
    return facts


def _number(database: Any, query: str) -> int:
    return int(database.execute(query).fetchall()[0][0])


def _rules(database: Any, rules: Mapping[str, str], facts: Facts) -> None:
    counts = "".join(f", count(*) FILTER ({rule})" for rule in rules.values())
    names = ("staged_rows", *rules)
    found = database.execute(f"SELECT count(*){counts} FROM staged").fetchall()[0]
    facts.numbers |= dict(zip(names, found, strict=True))
    for name, rule in rules.items():
        if facts.numbers[name]:
            facts.examples[name] = _pairs(database, f"SELECT document_id, profile_id FROM staged WHERE {rule}")


def _pairs(database: Any, query: str) -> list[str]:
    rows = database.execute(f"{query} LIMIT {_EXAMPLES}").fetchall()
    return [f"document {document}, profile {profile}" for document, profile in rows]


def _keys(database: Any, outcome: Outcome, facts: Facts) -> None:
    """Keys are compared by a hash first; only if some are equal by themselves."""
    same = """
        SELECT coalesce(sum(rows - 1), 0) FROM (
            SELECT count(*) AS rows FROM staged GROUP BY hash(document_id, profile_id) HAVING count(*) > 1
        )
    """
    facts.numbers["repeated_keys"] = _number(database, same)
    if facts.numbers["repeated_keys"]:
        twice = "SELECT document_id, profile_id, count(*) AS rows FROM staged GROUP BY ALL HAVING count(*) > 1"
        facts.numbers["repeated_keys"] = _number(database, f"SELECT coalesce(sum(rows - 1), 0) FROM ({twice})")
        facts.examples["repeated_keys"] = _pairs(database, f"SELECT document_id, profile_id FROM ({twice})")
    clash = "FROM kept SEMI JOIN staged USING (document_id, profile_id)"
    facts.numbers["published_rows"] = _number(database, "SELECT count(*) FROM kept") if outcome.published else 0
    facts.numbers["published_keys"] = _number(database, f"SELECT count(*) {clash}") if outcome.published else 0
    if facts.numbers["published_keys"]:
        facts.examples["published_keys"] = _pairs(database, f"SELECT document_id, profile_id {clash}")


def _references(database: Any, facts: Facts) -> None:
    known = "by_document SEMI JOIN encoded USING (document_id)"
    facts.numbers["matched_documents"] = _number(database, f"SELECT count(*) FROM {known}")
    for name, table, key in (
        ("unknown_documents", "encoded", "document_id"),
        ("unknown_profiles", "asked", "profile_id, profile_version"),
    ):
        groups = "by_document" if table == "encoded" else "by_profile"
        strangers = f"FROM {groups} ANTI JOIN {table} USING ({key})"
        facts.numbers[name] = _number(database, f"SELECT coalesce(sum(rows), 0) {strangers}")
        rows = database.execute(f"SELECT {key} {strangers} LIMIT {_EXAMPLES}").fetchall()
        facts.examples[name] = [f"{name.split('_')[1][:-1]} {' version '.join(map(str, row))}" for row in rows]
