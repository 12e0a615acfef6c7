"""`winnow audit --date D`: would the gate let the staged answers of a date be published?"""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from winnow.cli.common import add_lake_arguments, date, dates, lake_of, positive, session_of
from winnow.cli.showing import show_all
from winnow.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.jobs import audit_matches
    from winnow.jobs.report import RunReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", type=date, help="the data interval, e.g. 2026-11-16")
    parser.add_argument("--dates", type=dates, default=(), metavar="D,D,…", help="several of them")
    parser.add_argument("--run", help="the run that staged them (default: the newest one of the date)")
    parser.add_argument("--unpublished", action="store_true", help="nothing is done where nothing waits")
    parser.add_argument("--pending", action="store_true", help="every date whose staged answers wait, and no other")
    parser.add_argument("--sample", type=positive, help="pairs that libxml2 evaluates again")
    parser.add_argument("--seed", type=int, default=0, help="another one draws another sample")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    show_all(args, reports(args))
    return 0


def reports(args: argparse.Namespace) -> "Iterator[RunReport]":
    from winnow.jobs import audit_matches
    from winnow.jobs.report import all_of
    from winnow.jobs.staged_runs import newest_run, unpublished

    named = {*args.dates, *([args.date] if args.date else [])}
    if not (named or args.pending):
        raise UsageError("no_interval", "which data interval?", hint="give --date D, or --pending")
    lake, spark = lake_of(args), session_of(args)
    tables = lake.open(spark)
    if args.pending:
        runs = unpublished(tables)
    elif args.unpublished:
        runs = {date: run for date, run in unpublished(tables).items() if date in named}
    else:
        runs = {date: args.run or newest_run(tables, date) for date in named}
    sample = {"sample": args.sample} if args.sample else {}
    configs = [
        audit_matches.Config(lake=lake, date=date, run_id=run_id, seed=args.seed, **sample)
        for date, run_id in sorted(runs.items())
    ]
    yield from all_of(_audited(spark, config) for config in configs)


def _audited(spark: "SparkSession", config: "audit_matches.Config") -> "Iterator[RunReport]":
    from winnow.jobs import audit_matches
    from winnow.jobs.run_metrics import write_run_metrics

    report = audit_matches.run(spark, config)
    write_run_metrics(config.lake.open(spark), config.run_id, config.date, [report])
    yield report
