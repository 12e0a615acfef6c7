"""`winnow run --date D`: encode, index, match and publish the documents of a date or of a range, in one session."""

import argparse
import datetime as dt
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from winnow.cli.common import (
    add_engine_argument,
    add_interval_arguments,
    add_lake_arguments,
    check_engine,
    dates_and_pending,
    gate_of,
    lake_of,
    named_dates,
    positive,
    readable_lake,
    session_of,
)
from winnow.cli.showing import painted, show, show_all
from winnow.errors import DataError, UsageError, WinnowError

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport
    from winnow.tables.lake import Lake

_log = logging.getLogger(__name__)
_TOLD = {"documents": "documents", "matches": "new matches", "undecided": "undecided pairs"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_interval_arguments(parser)
    add_engine_argument(parser)
    parser.add_argument("--full", action="store_true", help="ask everything again, also what the ledger has answered")
    parser.add_argument("--replay", metavar="RUN", help="ask again what this run has asked; publishes nothing")
    parser.add_argument("--no-audit", action="store_true", help="publish without asking the quality gate")
    parser.add_argument("--shard", type=positive, help="profiles of one matcher; more are asked shard by shard")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    for line in _without_documents(args):
        show(args, line)
    done = show_all(args, reports(args))
    if not done:
        show(args, "nothing is pending", {"jobs": 0})
    elif not args.replay:
        told = summary(done)
        show(args, _sentence(told), told)
    return 0


def summary(done: "Sequence[RunReport]") -> dict[str, Any]:
    """Returns what a run comes to.

    >>> from winnow.jobs.report import RunReport
    >>> summary([RunReport("encode_documents", {"documents": 3}), RunReport("publish_matches", {"published": 2})])
    {'documents': 3, 'matches': 2, 'undecided': 0, 'warnings': 0, 'seconds': 0, 'report': ''}
    """

    def total(job: str, count: str) -> int:
        return sum(report.counts.get(count, 0) for report in done if report.job == job)

    return {
        "documents": total("encode_documents", "documents"),
        "matches": total("publish_matches", "published"),
        "undecided": total("publish_matches", "undecided"),
        "warnings": total("audit_matches", "warnings"),
        "seconds": round(sum(sum(report.seconds.values()) for report in done)),
        "report": next((report.place for report in done if report.place), ""),
    }


def _sentence(told: dict[str, Any]) -> str:
    counts = [
        f"{told[name]:,} {what}" for name, what in _TOLD.items() if told[name] or name in {"documents", "matches"}
    ]
    warnings = told["warnings"]
    warned = painted(f"{warnings} warning{'s' if warnings > 1 else ''} of the gate", "yellow")
    counts.append(warned if warnings else "no warnings")
    where = f"\nreport: {told['report']}" if told["report"] else ""
    return f"done: {', '.join(counts)}{where}"


def _without_documents(args: argparse.Namespace) -> "Iterator[str]":
    """Yields a sentence for each named date that has no documents, as far as that is known without Spark."""
    lake = lake_of(args)
    if lake.is_catalog or args.replay or args.json:
        return
    from winnow.query.stored_tables import data_files, open_table

    dates = named_dates(args)
    table = open_table(lake, "documents") if dates else None
    for date in dates:
        if table is None or not data_files(table, {"ingest_date": date}):
            mends = f"`winnow ingest documents PATH --date {date}` brings some"
            yield f"{date} has no documents in {lake.location} ({mends})"


def reports(args: argparse.Namespace) -> "Iterator[RunReport]":
    from winnow.jobs import run as pipeline
    from winnow.jobs.report import RunReport

    check_engine(args)
    lake = lake_of(args)
    if args.replay:
        from winnow.jobs import replay

        yield from replay.run(session_of(args), replay.Config(lake=lake, run_id=args.replay))
        return
    spark = session_of(args)
    dates = dates_and_pending(args, spark, lake)
    if not dates:
        return
    config = pipeline.Config(
        lake=lake,
        dates=dates,
        run_id=pipeline.new_run_id(args.run_id),
        engine=args.engine,
        full=args.full,
        **({"shard": args.shard} if args.shard else {}),
    )
    try:
        yield from pipeline.run(spark, config, None if args.no_audit else gate_of(spark, lake))
    except DataError:
        with suppress(WinnowError):  # what the gate has refused has pages, too
            _write_pages(readable_lake(args), dates)
        raise
    yield from (RunReport("report", place=place) for place in _write_pages(readable_lake(args), dates))


def _write_pages(lake: "Lake", dates: Sequence[dt.date]) -> list[str]:
    """Writes the pages of some dates, and the index; none where only sessions have keys for the tables' files."""
    from winnow.report.write import write, write_index

    try:
        places = [write(lake, date) for date in dates]
        write_index(lake)
    except UsageError as error:
        if error.code != "cannot_read":
            raise
        _log.warning("there is no report: %s", error)
        return []
    return places
