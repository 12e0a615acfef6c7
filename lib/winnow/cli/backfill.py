"""`winnow backfill`: new profiles over history, with a dry run that says what it would cost."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
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

if TYPE_CHECKING:
    from winnow.jobs.backfill import Estimate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_interval_arguments(parser)
    add_engine_argument(parser)
    parser.add_argument("--profiles", metavar="GLOB", help="only profiles whose id is like this")
    parser.add_argument("--dry-run", action="store_true", help="say how many documents and pairs; publish nothing")
    parser.add_argument("--no-audit", action="store_true", help="publish without asking the quality gate")
    parser.add_argument("--json", action="store_true", help="the dry run for machines")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.jobs import backfill, match_documents
    from winnow.jobs import run as pipeline

    check_engine(args)
    named = named_dates(args)
    lake, spark = lake_of(args), session_of(args)
    dates = tuple(date for date in backfill.known_dates(spark, lake) if not named or date in named)
    if not dates:
        print("no documents in these dates; nothing to do")
        return 0
    run_id = pipeline.new_run_id(args.run_id)
    if args.dry_run:
        asked = match_documents.Config(lake=lake, dates=dates, run_id=run_id, engine=args.engine, only=args.profiles)
        rows = list(backfill.estimate(spark, asked))
        print(json.dumps([asdict(row) for row in rows], default=str) if args.json else _table(rows))
        return 0
    config = pipeline.Config(lake=lake, dates=dates, run_id=run_id, engine=args.engine, only=args.profiles)
    for report in pipeline.run(spark, config, None if args.no_audit else gate_of(spark, lake)):
        print(report.render(), flush=True)
    return 0


def _table(rows: "Sequence[Estimate]") -> str:
    lines = [f"{'date':<10}  {'documents':>12}  {'profiles':>10}  {'pairs':>16}"]
    lines += [f"{row.date!s:<10}  {row.documents:>12,}  {row.profiles:>10,}  {row.pairs:>16,}" for row in rows]
    return "\n".join(lines)
