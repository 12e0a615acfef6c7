"""The jobs one by one, as a scheduler runs them; `winnow run` runs them all."""

import argparse
import datetime as dt
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from winnow.cli.common import (
    add_engine_argument,
    add_interval_arguments,
    add_lake_arguments,
    add_metrics_arguments,
    check_engine,
    dates_and_pending,
    dates_of,
    lake_of,
    named_dates,
    positive,
    session_of,
)
from winnow.cli.showing import show_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.jobs.report import RunReport
    from winnow.tables.lake import Lake

Reports = Iterator["RunReport"]
INTERVAL = {"encode-documents", "match-documents", "publish-matches"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    name = parser.prog.rsplit(" ", 1)[-1]
    if name in INTERVAL:
        add_interval_arguments(parser)
    else:
        add_metrics_arguments(parser)
    if name in ("build-index", "match-documents"):
        add_engine_argument(parser)
    if name == "match-documents":
        parser.add_argument("--full", action="store_true", help="ask everything again")
    if name == "publish-matches":
        parser.add_argument("--run", help="the run that staged the answers (default: the newest one of each date)")
        parser.add_argument("--audited", action="store_true", help="only what the quality gate has let through")
        parser.add_argument("--unpublished", action="store_true", help="nothing is done where nothing waits")
    if name == "build-index":
        parser.add_argument("--rebuild", action="store_true", help="pack everything anew under the next index version")
    if name == "maintain":
        parser.add_argument("--table", action="append", default=[], help="only this one; may be repeated")
        parser.add_argument("--retention-hours", type=positive, default=24 * 30, help="VACUUM keeps what is younger")
        days = os.environ.get("WINNOW_FORGET_AFTER_DAYS")
        words = "first forget the documents of earlier dates (default: WINNOW_FORGET_AFTER_DAYS, else none)"
        parser.add_argument("--forget-after-days", type=positive, default=days, metavar="N", help=words)
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    show_all(args, reports(args))
    return 0


def reports(args: argparse.Namespace) -> Reports:
    """Yields what each job has done; the metrics of all of them are kept with the run."""
    from winnow.jobs.run import new_run_id

    if hasattr(args, "engine"):
        check_engine(args)
    if args.command in INTERVAL and not args.pending:
        dates_of(args)  # before Spark, which takes seconds
    args.run_id = new_run_id(args.run_id)
    lake, spark = lake_of(args), session_of(args)
    done = []
    for report in _STEPS[args.command](args, spark, lake):
        yield report
        done.append(report)
    if done and (dates := named_dates(args) if args.command in INTERVAL else args.dates):
        from winnow.jobs.run_metrics import write_run_metrics

        write_run_metrics(lake.open(spark), args.run_id, dates[-1], done)


def _encode_documents(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import encode_documents as job

    for date in dates_and_pending(args, spark, lake):
        yield job.run(spark, job.Config(lake=lake, date=date, run_id=args.run_id))


def _sample_values(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import sample_values as job

    yield job.run(spark, job.Config(lake=lake))


def _encode_profiles(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import encode_profiles as job

    yield job.run(spark, job.Config(lake=lake))


def _build_index(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import build_index, build_sequence_trees

    if args.engine in build_sequence_trees.ENGINES:
        own = build_sequence_trees.Config(lake=lake, run_id=args.run_id, rebuild=args.rebuild)
        yield build_sequence_trees.run(spark, own)
    yield build_index.run(spark, build_index.Config(lake=lake, run_id=args.run_id, rebuild=args.rebuild))


def _join_paths(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import join_paths as job

    yield job.run(spark, job.Config(lake=lake, run_id=args.run_id))


def _match_documents(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import match_documents as job

    dates = dates_and_pending(args, spark, lake)
    if not dates:
        return
    yield job.run(spark, job.Config(lake=lake, dates=dates, run_id=args.run_id, engine=args.engine, full=args.full))


def _publish_matches(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import publish_matches as job
    from winnow.jobs.report import all_of
    from winnow.jobs.staged_runs import newest_run, unpublished

    tables = lake.open(spark)
    waiting = unpublished(tables)
    wanted = dict(waiting) if args.pending else {}
    for date in named_dates(args):
        if date in waiting and not args.run:
            wanted[date] = waiting[date]
        elif not args.unpublished:
            wanted[date] = args.run or newest_run(tables, date)
    configs = [
        job.Config(lake=lake, date=date, run_id=run_id, audited=args.audited) for date, run_id in sorted(wanted.items())
    ]
    yield from all_of(map(job.run, (spark,), (config,)) for config in configs)


def _maintain(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> Reports:
    from winnow.jobs import maintain as job

    if args.forget_after_days:
        from winnow.jobs import forget

        before = dt.date.today() - dt.timedelta(days=args.forget_after_days)
        yield forget.run(spark, forget.Config(lake=lake, before=before))
    config = job.Config(lake=lake, tables=tuple(args.table), retention_hours=args.retention_hours)
    yield from job.run(spark, config)


_STEPS: dict[str, Callable[[argparse.Namespace, "SparkSession", "Lake"], Reports]] = {
    "encode-documents": _encode_documents,
    "match-documents": _match_documents,
    "publish-matches": _publish_matches,
    "sample-values": _sample_values,
    "encode-profiles": _encode_profiles,
    "build-index": _build_index,
    "join-paths": _join_paths,
    "maintain": _maintain,
}
