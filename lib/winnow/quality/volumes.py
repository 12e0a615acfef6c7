"""Matches per document, beside the last intervals."""

import datetime as dt
from statistics import median

from winnow.lake.store import read_rows, rows_by_partition
from winnow.quality.facts import Facts

HISTORY = 14  # intervals
_LEAST = 3


def volume_facts(lake: str, date: dt.date, *, documents: int, matches: int | None) -> Facts:
    """Nothing to say where there is too little history."""
    facts = Facts()
    facts.absent("volume_ratio")
    past = _history(lake, date)
    usual = median(past) if len(past) >= _LEAST else 0.0
    if matches is not None and documents and usual:
        here = matches / documents
        facts.numbers["volume_ratio"] = here / usual
        facts.examples["volume_ratio"] = [f"{here:.3g} a document; {usual:.3g} in the last {len(past)} intervals"]
    return facts


def _history(lake: str, date: dt.date) -> list[float]:
    """Matches per document of the newest other intervals."""
    documents: dict[dt.date, int] = {}
    for row in read_rows(lake, "ledger", ["match_date", "documents"]).to_pylist():
        documents[row["match_date"]] = documents.get(row["match_date"], 0) + row["documents"]
    matches = rows_by_partition(lake, "matches", "match_date")
    days = sorted((day for day, count in documents.items() if day != date and count), reverse=True)[:HISTORY]
    return [matches[day,] / documents[day] for day in days]
