"""Gathers what a page tells from the tables: nothing here is computed anew, so page and tables agree."""

import datetime as dt
from collections.abc import Iterable

from winnow.errors import DataError
from winnow.quality.data_docs import page_name
from winnow.report.facts import BY_HAND, Bar, Check, Facts, RunFacts, SchedulerFacts, Trend
from winnow.report.queries import LakeQueries
from winnow.tables.lake import Lake

TOP = 10
RUNS = 14
Metrics = dict[tuple[str, str], float]  # by job and metric
_RUN = "run_id, outcome, mode, engine, documents, profiles_asked, planned_at, published_at"


def gather(lake: Lake, date: dt.date, run_id: str | None = None, scheduler: SchedulerFacts = BY_HAND) -> Facts:
    """Returns what is known of a date, and of one of its runs: the one that is named, else the newest one.

    Raises:
        DataError: nothing is known of the date, or it has no such run.
    """
    queries = LakeQueries(lake)
    run = run_of(queries, date, run_id)
    documents = queries.one("documents", "SELECT count(*) FROM documents WHERE ingest_date = $1", date)
    refused = queries.one("quarantine", "SELECT count(*) FROM quarantine WHERE ingest_date = $1", date)
    if not (run or documents or refused) or (run_id and not run):
        what = f"run {run_id} of {date}" if run_id else f"{date}"
        raise DataError("no_runs", f"nothing is known of {what} in {lake.location}", hint="see the table runs")
    quality = _quality(queries, date, run)
    metrics = _metrics(queries, run, scheduler)
    return Facts(
        date,
        verdict_of(run, quality),
        _sentences(queries, date, run, quality, documents),
        run,
        scheduler,
        _headline(queries, date, documents, refused, metrics),
        _funnel(queries, date, run, documents, refused),
        _pruning(queries, date, run, metrics),
        [
            Bar(f"{job} · {metric[9:]}", value)
            for (job, metric), value in metrics.items()
            if metric.startswith("seconds: ")
        ],
        _top(queries, date, "profile_id"),
        _top(queries, date, "destination"),
        _counts(queries, "quarantine", "reason", "ingest_date", date),
        _counts(queries, "undecided", "profile_id", "match_date", date),
        quality,
        _trends(queries, date),
        _values(queries, "common"),
        _values(queries, "rare"),
        queries.one("selectivity", "SELECT max(sampled) FROM selectivity"),
        page_name(str(date), run.run_id) if run and quality else "",
    )


def run_of(queries: LakeQueries, date: dt.date, run_id: str | None) -> RunFacts | None:
    """Returns the run of a date that is named, else the one that was planned last, whatever has become of it."""
    query = f"SELECT {_RUN} FROM runs WHERE match_date = $1 AND ($2 IS NULL OR run_id = $2) ORDER BY planned_at DESC"
    rows = queries.all("runs", f"{query} LIMIT 1", date, run_id)
    if not rows:
        return None
    dates = queries.all("runs", "SELECT match_date FROM runs WHERE run_id = $1 ORDER BY 1", rows[0][0])
    return RunFacts._make([*rows[0], [day for (day,) in dates]])


def verdict_of(run: RunFacts | None, quality: Iterable[Check]) -> str:
    checks = list(quality)
    if run is None:
        return "not answered"
    if not checks:
        return "not audited"
    failed = {check.severity for check in checks if not check.success}
    return "failed" if "critical" in failed else "warned" if "warning" in failed else "passed"


def _sentences(
    queries: LakeQueries, date: dt.date, run: RunFacts | None, quality: list[Check], documents: int
) -> list[str]:
    if run is None:
        return [f"No run has answered the {documents:,} documents of this date yet."]
    asked = f"It asked {run.documents:,} documents with the engine {run.engine}."
    others = [str(day) for day in run.dates if day != date]
    shared = [f"The same run did {len(others):,} other dates; seconds are those of all of them."] if others else []
    if run.outcome == "published":
        return [f"Published {_minute(run.published_at)} by run {run.run_id}.", asked, *shared]
    failed = [check.check for check in quality if not check.success and check.severity == "critical"]
    why = f"the quality gate refused it: {', '.join(failed)}" if failed else "it waits for the quality gate"
    query = """
        SELECT run_id, published_at FROM runs WHERE match_date = $1 AND outcome = 'published'
        ORDER BY published_at DESC LIMIT 1
    """
    before = [f"run {name}, {_minute(at)}" for name, at in queries.all("runs", query, date)]
    seen = f"Readers see what was published before: {before[0]}." if before else "Readers see no matches of this date."
    return [f"What run {run.run_id} has staged is not published: {why}.", seen, asked, *shared]


def _minute(at: dt.datetime | None) -> str:
    return at.astimezone(dt.UTC).strftime("%Y-%m-%d %H:%M UTC") if at else ""


def _metrics(queries: LakeQueries, run: RunFacts | None, scheduler: SchedulerFacts) -> Metrics:
    """Returns what the jobs of a run have counted. A scheduler runs them one by one, each under a name of its own that
    begins with that of the scheduler's run.
    """
    query = """
        SELECT job, metric, sum(value) FROM run_metrics
        WHERE run_id = $1 OR ($2 != '' AND starts_with(run_id, $2 || '-') AND length(run_id) = length($2) + 13)
        GROUP BY ALL ORDER BY 1, 2
    """
    rows = queries.all("run_metrics", query, run.run_id if run else "", scheduler.run_id)
    return {(job, metric): value for job, metric, value in rows}


def _headline(queries: LakeQueries, date: dt.date, documents: int, refused: int, metrics: Metrics) -> list[Bar]:
    matches = queries.one("matches", "SELECT count(*) FROM matches WHERE match_date = $1", date)
    matched = queries.one("matches", "SELECT count(DISTINCT document_id) FROM matches WHERE match_date = $1", date)
    published = queries.one("runs", "SELECT count(*) FROM runs WHERE match_date = $1 AND outcome = 'published'", date)
    seconds = sum(value for (_, metric), value in metrics.items() if metric.startswith("seconds: "))
    none = f"{documents - matched:,} satisfy no profile" if published else "nothing is published yet"
    return [
        Bar("documents", documents),
        Bar("quarantined", refused),
        Bar("matched", matched, none),
        Bar("matches", matches, f"{matches / documents:.1f} a document" if documents and published else ""),
        Bar("seconds", seconds, "of the whole run"),
    ]


def _funnel(queries: LakeQueries, date: dt.date, run: RunFacts | None, documents: int, refused: int) -> list[Bar]:
    encoded = queries.one(
        "encoded_documents",
        "SELECT count(*) FROM encoded_documents WHERE ingest_date = $1 AND refused IS NULL",
        date,
    )
    matched = queries.one("matches", "SELECT count(DISTINCT document_id) FROM matches WHERE match_date = $1", date)
    asked = [Bar("asked in this run", _asked(queries, date, run))] if run else []
    return [
        Bar("read", documents + refused),
        Bar("accepted", documents, f"{refused:,} quarantined"),
        Bar("encoded", encoded),
        *asked,
        Bar("matched, as published", matched),
    ]


def _asked(queries: LakeQueries, date: dt.date, run: RunFacts) -> int:
    query = "SELECT count(DISTINCT document_id) FROM matches_staged WHERE run_id = $1 AND match_date = $2"
    return int(queries.one("matches_staged", query, run.run_id, date))


def _pruning(queries: LakeQueries, date: dt.date, run: RunFacts | None, metrics: Metrics) -> list[Bar]:
    """Pairs of this date that were left after each level, as its run has staged them."""
    if run is None:
        return []
    query = """
        SELECT sum(routed), sum(node_pairs), sum(leaf_pairs), sum(candidates), sum(verified), sum(len(profiles)),
            sum(nodes_read), sum(nodes_stored)
        FROM matches_staged WHERE run_id = $1 AND match_date = $2
    """
    rows = queries.all("matches_staged", query, run.run_id, date)
    told = [value or 0 for value in rows[0]] if rows else [0] * 8
    routed, node_pairs, leaf_pairs, candidates, verified, found, nodes_read, nodes_stored = told
    published = queries.one("matches", "SELECT count(*) FROM matches WHERE match_date = $1", date)
    earlier = published - found if run.outcome == "published" else 0
    note = f"{earlier:,} of the date's {published:,} are of earlier runs" if earlier > 0 else ""
    joins = {
        "pairs routed": "paths routed to partitions of branches",
        "new path branches": "path branches, newly joined",
    }
    joined = [Bar(words, metrics.get(("join_paths", name), 0), "of the whole run") for name, words in joins.items()]
    nodes = f"{nodes_read:,} of {nodes_stored:,} nodes were read, counted in each batch"
    searched = [Bar("node pairs", node_pairs, nodes), Bar("leaf pairs", leaf_pairs)] if nodes_stored else []
    return [
        Bar("documents × profiles asked", run.documents * run.profiles_asked, f"{run.documents:,} documents"),
        Bar("pairs routed to an index", routed),
        *(searched or joined),
        Bar("candidates", candidates),
        Bar("verified by kernel or libxml2", verified),
        Bar("matches of this run", found, note),
    ]


def _top(queries: LakeQueries, date: dt.date, column: str) -> list[Bar]:
    query = f"""
        SELECT {column}, count(*), count(DISTINCT document_id) FROM matches
        WHERE match_date = $1 AND {column} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {TOP}
    """
    return [
        Bar(name, count, f"{documents:,} documents") for name, count, documents in queries.all("matches", query, date)
    ]


def _counts(queries: LakeQueries, table: str, column: str, day: str, date: dt.date) -> list[Bar]:
    query = f"SELECT {column}, count(*) FROM {table} WHERE {day} = $1 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {TOP}"
    return [Bar(name, count) for name, count in queries.all(table, query, date)]


def _values(queries: LakeQueries, end: str) -> list[Bar]:
    """From one end of what the sample knows. As of now, not of the date: the sample is one of all history."""
    shown, order = ("100 * fraction", "DESC") if end == "common" else ("1 / fraction", "ASC")
    query = f"""
        SELECT label || ' = ' || left(value, 60), {shown}, occurrences, round(occurrences / fraction)::BIGINT
        FROM selectivity WHERE counted = 'text' AND trim(value) != ''
        ORDER BY fraction {order}, occurrences DESC, label, value LIMIT {TOP}
    """
    return [
        Bar(name, value, f"{count:,} of {total:,} nodes")
        for name, value, count, total in queries.all("selectivity", query)
    ]


def _quality(queries: LakeQueries, date: dt.date, run: RunFacts | None) -> list[Check]:
    """Returns the results of the newest audit of a run."""
    query = """
        SELECT "check", "table", severity, success, message, seconds FROM quality_results
        WHERE match_date = $1 AND run_id = $2 AND staged_version =
            (SELECT max(staged_version) FROM quality_results WHERE match_date = $1 AND run_id = $2)
        ORDER BY success, severity, "check"
    """
    return [Check(*row) for row in queries.all("quality_results", query, date, run.run_id)] if run else []


def _trends(queries: LakeQueries, date: dt.date) -> list[Trend]:
    """The last dates up to this one."""
    of_day = {
        "documents": ("documents", "SELECT ingest_date, count(*) FROM documents WHERE ingest_date <= $1 GROUP BY 1"),
        "quarantined": (
            "quarantine",
            "SELECT ingest_date, count(*) FROM quarantine WHERE ingest_date <= $1 GROUP BY 1",
        ),
        "matches": ("matches", "SELECT match_date, count(*) FROM matches WHERE match_date <= $1 GROUP BY 1"),
        "seconds": (
            "run_metrics",
            """
            SELECT match_date, sum(value) FROM run_metrics
            WHERE metric LIKE 'seconds: %' AND match_date <= $1 GROUP BY 1
            """,
        ),
    }
    found = {name: dict(queries.all(table, query, date)) for name, (table, query) in of_day.items()}
    dates = sorted({day for values in found.values() for day in values})[-RUNS:]
    return [
        Trend(name, [str(d) for d in dates], [float(values.get(d, 0)) for d in dates]) for name, values in found.items()
    ]
