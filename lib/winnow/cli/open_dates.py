"""`winnow open-dates`: which dates have something to do, and what."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from winnow.cli.common import add_interval_arguments, add_lake_arguments, lake_of, named_dates, session_of
from winnow.cli.showing import show, show_all

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_interval_arguments(parser)
    parser.add_argument("--again", action="store_true", help="named dates also where everything is answered")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    args.pending = args.pending or not named_dates(args)
    if not show_all(args, reports(args)):
        show(args, "nothing is open", {"dates": 0})
    return 0


def reports(args: argparse.Namespace) -> "Iterator[RunReport]":
    """Yields a report for each date; its counts say why it is open."""
    from winnow.jobs.backfill import open_dates
    from winnow.jobs.report import RunReport

    lake, named = lake_of(args), named_dates(args)
    for found in open_dates(session_of(args), lake, named, pending=args.pending, again=args.again):
        counts = {
            "documents": found.documents,
            "unanswered": found.unanswered,
            "profiles came": found.new_profiles,
            "profiles went": found.withdrawn_profiles,
        }
        yield RunReport(str(found.date), counts)
