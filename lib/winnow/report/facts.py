"""What the page tells, gathered from the tables: nothing here is computed anew, so page and tables agree."""

import datetime as dt
from typing import Any, NamedTuple

import duckdb

from winnow.errors import DataError
from winnow.quality.data_docs import page_name
from winnow.query.database import connect
from winnow.tables.lake import Lake

TOP = 10
RUNS = 14


class Bar(NamedTuple):
    label: str
    value: float
    note: str = ""


class Check(NamedTuple):
    check: str
    table: str
    severity: str
    success: bool
    message: str
    seconds: float


class Trend(NamedTuple):
    """One line over the last dates."""

    name: str
    dates: list[str]
    values: list[float]


class Facts(NamedTuple):
    date: dt.date
    run_id: str
    verdict: str  # passed, warned, failed or not audited
    headline: list[Bar]
    funnel: list[Bar]
    pruning: list[Bar]
    seconds: list[Bar]
    profiles: list[Bar]
    destinations: list[Bar]
    quarantine: list[Bar]
    undecided: list[Bar]
    quality: list[Check]
    trends: list[Trend]
    common: list[Bar]  # values that most nodes of their label have, in percent
    rare: list[Bar]  # values that one in so many has
    sampled: int  # documents from which that is known
    data_docs: str = ""  # the page beside this one; empty where there was no audit


def gather(lake: Lake, date: dt.date, run_id: str | None = None) -> Facts:
    database = connect(lake)
    known = {name for (name,) in database.execute("SHOW TABLES").fetchall()}
    if "run_metrics" not in known:
        raise DataError(
            "no_runs", f"no run is recorded in {lake.location}", hint="`winnow run --date D` makes the first"
        )
    tables = _Tables(database, known)
    chosen = run_id or _last_run(tables, date)
    rows = tables.all(
        "run_metrics", "SELECT job, metric, value FROM run_metrics WHERE match_date = $1 AND run_id = $2", date, chosen
    )
    if not rows:
        raise DataError("no_runs", f"no run {chosen} of {date} is recorded", hint="see the table run_metrics")
    metrics = {(job, metric): value for job, metric, value in rows}
    quality = _quality(tables, date)
    return Facts(
        date,
        chosen,
        _verdict(quality),
        _headline(tables, date, metrics),
        _funnel(tables, date, metrics),
        _pruning(metrics),
        [
            Bar(f"{job} · {metric[9:]}", value)
            for (job, metric), value in metrics.items()
            if metric.startswith("seconds: ")
        ],
        _top(tables, date, "profile_id"),
        _top(tables, date, "destination"),
        _counts(tables, "quarantine", "reason", "ingest_date", date),
        _counts(tables, "undecided", "profile_id", "match_date", date),
        quality,
        _trends(tables, date),
        _values(tables, "common"),
        _values(tables, "rare"),
        tables.one("selectivity", "SELECT max(sampled) FROM selectivity") or 0,
        _data_docs(tables, date),
    )


class _Tables:
    """Queries over tables that may not be there yet; then there is nothing to tell."""

    def __init__(self, database: duckdb.DuckDBPyConnection, known: set[str]) -> None:
        self._database, self._known = database, known

    def all(self, table: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._database.execute(query, list(values)).fetchall() if table in self._known else []

    def one(self, table: str, query: str, *values: Any) -> Any:
        found = self.all(table, query, *values)
        return found[0][0] if found else 0


def _last_run(tables: _Tables, date: dt.date) -> str:
    """The run that published the date last; else any that is recorded for it."""
    published = """
        SELECT run_id FROM runs WHERE match_date = $1 AND outcome = 'published' ORDER BY published_at DESC LIMIT 1
    """
    recorded = "SELECT max(run_id) FROM run_metrics WHERE match_date = $1"
    known = {
        row[0]
        for row in tables.all("run_metrics", "SELECT DISTINCT run_id FROM run_metrics WHERE match_date = $1", date)
    }
    found = tables.one("runs", published, date)
    return str(found if found in known else tables.one("run_metrics", recorded, date))


def _headline(tables: _Tables, date: dt.date, metrics: dict[tuple[str, str], float]) -> list[Bar]:
    documents = tables.one("documents", "SELECT count(*) FROM documents WHERE ingest_date = $1", date)
    matches = tables.one("matches", "SELECT count(*) FROM matches WHERE match_date = $1", date)
    matched = tables.one("matches", "SELECT count(DISTINCT document_id) FROM matches WHERE match_date = $1", date)
    refused = tables.one("quarantine", "SELECT count(*) FROM quarantine WHERE ingest_date = $1", date)
    seconds = sum(value for (_, metric), value in metrics.items() if metric.startswith("seconds: "))
    return [
        Bar("documents", documents),
        Bar("quarantined", refused),
        Bar("matched", matched, f"{documents - matched:,} satisfy no profile"),
        Bar("matches", matches, f"{matches / documents:.1f} a document" if documents else ""),
        Bar("seconds", seconds),
    ]


def _funnel(tables: _Tables, date: dt.date, metrics: dict[tuple[str, str], float]) -> list[Bar]:
    documents = tables.one("documents", "SELECT count(*) FROM documents WHERE ingest_date = $1", date)
    refused = tables.one("quarantine", "SELECT count(*) FROM quarantine WHERE ingest_date = $1", date)
    matched = tables.one("matches", "SELECT count(DISTINCT document_id) FROM matches WHERE match_date = $1", date)
    asked = metrics.get(("match_documents", "documents"), 0)
    return [
        Bar("read", documents + refused),
        Bar("accepted", documents, f"{refused:,} quarantined"),
        Bar("looked at in this run", asked),
        Bar("matched", matched),
    ]


def _pruning(metrics: dict[tuple[str, str], float]) -> list[Bar]:
    """Pairs that were left after each level."""

    def of(name: str, job: str = "match_documents") -> float:
        return metrics.get((job, name), 0)

    paths, branches = of("paths"), of("branches")
    return [
        Bar("paths × branches", paths * branches, f"{paths:,.0f} paths, {branches:,.0f} branches"),
        Bar("path branches, newly joined", of("new path branches", "join_paths")),
        Bar("documents × profiles asked", of("documents") * of("profiles asked")),
        Bar("candidates", of("candidates")),
        Bar("verified by kernel or libxml2", of("verified")),
        Bar("matches", of("matches")),
    ]


def _top(tables: _Tables, date: dt.date, column: str) -> list[Bar]:
    query = f"""
        SELECT {column}, count(*), count(DISTINCT document_id) FROM matches
        WHERE match_date = $1 AND {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {TOP}
    """
    return [
        Bar(name, count, f"{documents:,} documents") for name, count, documents in tables.all("matches", query, date)
    ]


def _counts(tables: _Tables, table: str, column: str, day: str, date: dt.date) -> list[Bar]:
    query = f"SELECT {column}, count(*) FROM {table} WHERE {day} = $1 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {TOP}"
    return [Bar(name, count) for name, count in tables.all(table, query, date)]


def _values(tables: _Tables, end: str) -> list[Bar]:
    """From one end of what the sample knows. As of now, not of the date: the sample is one of all history."""
    shown, order = ("100 * fraction", "DESC") if end == "common" else ("1 / fraction", "ASC")
    query = f"""
        SELECT label || ' = ' || left(value, 60), {shown}, occurrences, round(occurrences / fraction)::BIGINT
        FROM selectivity WHERE counted = 'text' AND trim(value) != ''
        ORDER BY fraction {order}, occurrences DESC, label, value LIMIT {TOP}
    """
    return [
        Bar(name, value, f"{count:,} of {total:,} nodes")
        for name, value, count, total in tables.all("selectivity", query)
    ]


def _quality(tables: _Tables, date: dt.date) -> list[Check]:
    query = """
        SELECT "check", "table", severity, success, message, seconds FROM quality_results WHERE match_date = $1
        AND staged_version = (SELECT max(staged_version) FROM quality_results WHERE match_date = $1)
        ORDER BY success, severity, "check"
    """
    return [Check(*row) for row in tables.all("quality_results", query, date)]


def _data_docs(tables: _Tables, date: dt.date) -> str:
    query = "SELECT run_id FROM quality_results WHERE match_date = $1 ORDER BY staged_version DESC LIMIT 1"
    run = tables.one("quality_results", query, date)
    return page_name(str(date), run) if run else ""


def _verdict(quality: list[Check]) -> str:
    failed = {check.severity for check in quality if not check.success}
    if not quality:
        return "not audited"
    return "failed" if "critical" in failed else "warned" if "warning" in failed else "passed"


def _trends(tables: _Tables, date: dt.date) -> list[Trend]:
    """The last dates up to this one."""
    queries = {
        "documents": ("documents", "SELECT ingest_date, count(*) FROM documents WHERE ingest_date <= $1 GROUP BY 1"),
        "quarantined": (
            "quarantine",
            "SELECT ingest_date, count(*) FROM quarantine WHERE ingest_date <= $1 GROUP BY 1",
        ),
        "matches": ("matches", "SELECT match_date, count(*) FROM matches WHERE match_date <= $1 GROUP BY 1"),
        "seconds": (
            "run_metrics",
            """
            SELECT match_date, max(total) FROM (SELECT match_date, run_id, sum(value) AS total FROM run_metrics
            WHERE metric LIKE 'seconds: %' AND match_date <= $1 GROUP BY ALL) GROUP BY 1
            """,
        ),
    }
    found = {name: dict(tables.all(table, query, date)) for name, (table, query) in queries.items()}
    dates = sorted({day for values in found.values() for day in values})[-RUNS:]
    return [
        Trend(name, [str(d) for d in dates], [float(values.get(d, 0)) for d in dates]) for name, values in found.items()
    ]
