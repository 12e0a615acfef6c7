"""`winnow backfill`: new profiles over history, with a dry run that says what it would cost."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from winnow.cli.common import (
    add_engine_argument,
    add_interval_arguments,
    add_lake_arguments,
    check_engine,
    gate_of,
    lake_of,
    named_dates,
    session_of,
)
from winnow.cli.showing import show, show_all

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_interval_arguments(parser)
    add_engine_argument(parser)
    parser.add_argument("--profiles", metavar="GLOB", help="only profiles whose id is like this")
    parser.add_argument("--dry-run", action="store_true", help="say how many documents and pairs; publish nothing")
    parser.add_argument("--no-audit", action="store_true", help="publish without asking the quality gate")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    done = list(reports(args)) if args.dry_run else show_all(args, reports(args))
    if not done:
        show(args, "no documents in these dates; nothing to do", [])
    elif args.dry_run:
        show(args, _table(done), [{"date": row.job, **row.counts} for row in done])
    return 0


def reports(args: argparse.Namespace) -> "Iterator[RunReport]":
    """Yields what each job has done; of a dry run, what each date would cost."""
    from winnow.jobs import backfill, match_documents
    from winnow.jobs import run as pipeline
    from winnow.jobs.report import RunReport

    check_engine(args)
    named = named_dates(args)
    lake, spark = lake_of(args), session_of(args)
    dates = tuple(date for date in backfill.known_dates(spark, lake) if not named or date in named)
    if not dates:
        return
    run_id = pipeline.new_run_id(args.run_id)
    if args.dry_run:
        asked = match_documents.Config(lake=lake, dates=dates, run_id=run_id, engine=args.engine, only=args.profiles)
        for row in backfill.estimate(spark, asked):
            counts = {"documents": row.documents, "profiles": row.profiles, "pairs": row.pairs}
            yield RunReport(str(row.date), counts)
        return
    config = pipeline.Config(lake=lake, dates=dates, run_id=run_id, engine=args.engine, only=args.profiles)
    yield from pipeline.run(spark, config, None if args.no_audit else gate_of(spark, lake))


def _table(rows: "Sequence[RunReport]") -> str:
    lines = [f"{'date':<10}  {'documents':>12}  {'profiles':>10}  {'pairs':>16}"]
    for row in rows:
        documents, profiles, pairs = (row.counts[name] for name in ("documents", "profiles", "pairs"))
        lines.append(f"{row.job:<10}  {documents:>12,}  {profiles:>10,}  {pairs:>16,}")
    return "\n".join(lines)
