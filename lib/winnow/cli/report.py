"""`winnow report --date D`: one page that tells what happened, beside the tables."""

import argparse
from collections.abc import Iterator

from winnow.cli.common import add_lake_arguments, date, lake_of
from winnow.jobs.report import RunReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", required=True, type=date, help="the data interval, e.g. 2026-11-16")
    parser.add_argument("--run-id", help="default: the run that published the date last")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    (report,) = reports(args)
    print(f"report: {report.place}")
    return 0


def reports(args: argparse.Namespace) -> Iterator[RunReport]:
    from winnow.report.write import write

    yield RunReport("report", place=write(lake_of(args), args.date, args.run_id))
