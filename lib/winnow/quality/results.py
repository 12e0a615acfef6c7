"""Verdicts as rows of `quality_results`, and as sentences."""

import datetime as dt
from typing import Any

import pyarrow as pa

from winnow.lake.contracts import load_contract
from winnow.tables.locks import table_lock
from winnow.lake.parts import arrow_schema
from winnow.lake.store import ensure_tables, upsert
from winnow.quality.expectations import Verdict
from winnow.quality.facts import Facts

TABLE = "quality_results"


def sentence(verdict: Verdict, facts: Facts) -> str:
    """What was found, examples, and what to do where it failed."""
    check = verdict.check
    if verdict.observed is None:
        return f"{check.says}: it could not be told; {verdict.trouble or 'Great Expectations gave no value'}"
    words = f"{verdict.observed:g} {check.says}"
    examples = facts.examples.get(check.fact, [])
    if examples and (verdict.observed or check.severity == "info"):
        words += f" ({'; '.join(examples)})"
    return words if verdict.success or not check.next else f"{words}; {check.next}"


def keep(lake: str, verdicts: list[Verdict], facts: Facts, *, date: dt.date, staged_version: int, run_id: str) -> None:
    """One row for each verdict; the same audit again writes the same rows."""
    rows = [_row(verdict, facts) for verdict in verdicts]
    same: dict[str, Any] = {"run_id": run_id, "staged_version": staged_version, "match_date": date}
    schema = arrow_schema(load_contract(TABLE), partitions=True)
    ensure_tables(lake, (TABLE,))
    with table_lock(lake, TABLE):
        table = pa.Table.from_pylist([row | same for row in rows], schema=schema)
        upsert(lake, TABLE, table, run={"job": "audit_matches", "run_id": run_id})


def _row(verdict: Verdict, facts: Facts) -> dict[str, Any]:
    check = verdict.check
    counts = check.bounds == (0, 0) and verdict.observed is not None
    return {
        "suite": verdict.suite,
        "check": check.name,
        "table": verdict.suite,
        "severity": check.severity.value,
        "success": verdict.success,
        "observed": verdict.observed,
        "expected": check.expected,
        "unexpected": int(verdict.observed or 0) if counts else int(not verdict.success),
        "message": sentence(verdict, facts),
    }
