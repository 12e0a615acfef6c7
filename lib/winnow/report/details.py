"""Pages of rows beside the report: the index of all dates, what was refused on a date, what the gate has found."""

import datetime as dt
from typing import NamedTuple

from winnow.report.facts import Check
from winnow.report.gather import run_of, verdict_of
from winnow.report.queries import LakeQueries

MAX_ROWS = 2_000
INDEX = "index.html"


class Cell(NamedTuple):
    text: str
    href: str = ""
    tag: str = ""  # passed, warned, failed or not: shown as a coloured label


class RowsPage(NamedTuple):
    name: str  # of its file
    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def page_of(date: dt.date) -> str:
    """The name of the newest page of a date."""
    return f"{date}.html"


def index(queries: LakeQueries) -> RowsPage:
    """All dates, the newest first."""
    counts = {
        name: dict(queries.all(name, f"SELECT {day}, count(*) FROM {name} GROUP BY 1"))
        for name, day in (("documents", "ingest_date"), ("quarantine", "ingest_date"), ("matches", "match_date"))
    }
    answered = {day for (day,) in queries.all("runs", "SELECT DISTINCT match_date FROM runs")}
    dates = sorted(answered.union(*counts.values()), reverse=True)
    rows = [_line(queries, date, [counts[name].get(date, 0) for name in counts]) for date in dates[:MAX_ROWS]]
    sentence = (
        f"{len(dates):,} dates, the newest first. Each has a page, and from there the pages of its quarantine and gate."
    )
    columns = ("date", "gate", "outcome", "documents", "quarantined", "matches", "run")
    return RowsPage(INDEX, "All dates", sentence, columns, rows)


def _line(queries: LakeQueries, date: dt.date, counts: list[int]) -> tuple[Cell, ...]:
    run = run_of(queries, date, None)
    query = """
        SELECT "check", "table", severity, success, '', 0 FROM quality_results WHERE match_date = $1 AND run_id = $2
    """
    checks = [Check(*row) for row in queries.all("quality_results", query, date, run.run_id)] if run else []
    verdict = verdict_of(run, checks)
    numbers = [Cell(f"{count:,}") for count in counts]
    numbers[1] = Cell(f"{counts[1]:,}", quarantine_name(date) if counts[1] else "")
    return (
        Cell(str(date), page_of(date)),
        Cell(verdict, tag=verdict.split(" ")[0]),
        Cell(run.outcome if run else "to come"),
        *numbers,
        Cell(run.run_id if run else ""),
    )


def quarantine_name(date: dt.date) -> str:
    return f"quarantine-{date}.html"


def quarantine(queries: LakeQueries, date: dt.date) -> RowsPage:
    """What was refused on a date."""
    columns = ("reason", "source", "member", "record", "line", "column", "message")
    listed = ", ".join(f'"{column}"' for column in columns)
    query = f"SELECT {listed} FROM quarantine WHERE ingest_date = $1 ORDER BY 1, 2, 3, 4 LIMIT {MAX_ROWS}"
    rows = [
        tuple(Cell("" if value is None else str(value)) for value in row)
        for row in queries.all("quarantine", query, date)
    ]
    count = queries.one("quarantine", "SELECT count(*) FROM quarantine WHERE ingest_date = $1", date)
    return RowsPage(
        quarantine_name(date),
        f"Quarantine of {date}",
        _shown(len(rows), count, "quarantine", "ingest_date", date),
        columns,
        rows,
    )


def results_name(date: dt.date) -> str:
    return f"results-{date}.html"


def results(queries: LakeQueries, date: dt.date) -> RowsPage:
    """What the gate has found on a date, the newest audit first, failures first."""
    columns = ("result", "check", "suite", "severity", "message", "run_id", "staged_version")
    query = f"""
        SELECT success, "check", suite, severity, message, run_id, staged_version FROM quality_results
        WHERE match_date = $1 ORDER BY staged_version DESC, run_id, success, severity, "check" LIMIT {MAX_ROWS}
    """
    rows = []
    for success, *row in queries.all("quality_results", query, date):
        tag = "passed" if success else "failed" if row[2] == "critical" else "warned"
        rows.append((Cell("ok" if success else "failed", tag=tag), *(Cell(str(value)) for value in row)))
    count = queries.one("quality_results", "SELECT count(*) FROM quality_results WHERE match_date = $1", date)
    sentence = _shown(len(rows), count, "quality_results", "match_date", date)
    return RowsPage(results_name(date), f"Results of the quality gate, {date}", sentence, columns, rows)


def _shown(shown: int, count: int, table: str, day: str, date: dt.date) -> str:
    asked = f"winnow query --sql \"select * from {table} where {day} = '{date}'\""
    return f"{shown:,} of {count:,} rows of the table {table}; all of them: {asked}"
