"""`winnow run --date D`: encode, index, match and publish the documents of a date or of a range, in one session."""

import argparse
import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from winnow.cli.common import (
    add_engine_argument,
    add_interval_arguments,
    add_lake_arguments,
    check_engine,
    dates_and_pending,
    gate_of,
    lake_of,
    positive,
    session_of,
)
from winnow.errors import DataError, WinnowError

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport
    from winnow.tables.lake import Lake


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_interval_arguments(parser)
    add_engine_argument(parser)
    parser.add_argument("--full", action="store_true", help="ask everything again, also what the ledger has answered")
    parser.add_argument("--replay", metavar="RUN", help="ask again what this run has asked; publishes nothing")
    parser.add_argument("--no-audit", action="store_true", help="publish without asking the quality gate")
    parser.add_argument("--shard", type=positive, help="profiles of one matcher; more are asked shard by shard")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    done = 0
    for report in reports(args):
        print(f"report: {report.place}" if report.place else report.render(), flush=True)
        done += 1
    if not done:
        print("nothing is pending")
    return 0


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
            _write_pages(lake, dates)
        raise
    yield from (RunReport("report", place=place) for place in _write_pages(lake, dates))


def _write_pages(lake: "Lake", dates: Sequence[dt.date]) -> list[str]:
    """Writes the pages of some dates, and the index; a catalog is read by sessions only, so it has none."""
    from winnow.report.write import write, write_index

    places = [write(lake, date) for date in dates] if not lake.is_catalog else []
    if places:
        write_index(lake)
    return places
