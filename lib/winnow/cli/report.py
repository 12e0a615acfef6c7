"""`winnow report --date D`: one page that tells what happened, beside the tables, and the index of all dates."""

import argparse
import json
from collections.abc import Iterator

from winnow.cli.common import add_lake_arguments, dates, readable_lake
from winnow.cli.showing import show
from winnow.jobs.report import RunReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", "--dates", dest="dates", type=dates, default=(), help="data intervals, with commas")
    parser.add_argument("--run-id", help="a run of the date (default: the newest one)")
    parser.add_argument("--scheduler", help=argparse.SUPPRESS)  # the run that the page is written in, as JSON
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    for report in reports(args):
        show(args, f"{report.job}: {report.place}", {report.job: report.place})
    return 0


def reports(args: argparse.Namespace) -> Iterator[RunReport]:
    """Yields the place of each page; that of the index comes first."""
    from winnow.report.facts import SchedulerFacts
    from winnow.report.write import write, write_index

    lake, told = readable_lake(args), json.loads(args.scheduler or "{}")
    tasks = tuple((str(task), str(state)) for task, state in told.pop("tasks", {}).items())
    written = [write(lake, date, args.run_id, SchedulerFacts(**told, tasks=tasks)) for date in args.dates]
    yield RunReport("index", place=write_index(lake))
    for place in written:
        yield RunReport("report", place=place)
