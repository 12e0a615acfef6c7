"""`winnow backfill`: new profiles over history, with a dry run that says what it would cost."""

import argparse
import json
from collections.abc import Sequence

from winnow.cli.common import (
    add_engine_argument,
    add_interval_arguments,
    add_lake_arguments,
    check_engine,
    dates_of,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_interval_arguments(parser)
    add_engine_argument(parser)
    parser.add_argument("--profiles", default="*", metavar="GLOB", help="only profiles whose id is like this")
    parser.add_argument("--dry-run", action="store_true", help="say how many documents and pairs; publish nothing")
    parser.add_argument("--no-audit", action="store_true", help="publish without asking the quality gate")
    parser.add_argument("--json", action="store_true", help="the dry run for machines")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.lake.contracts import lake_path
    from winnow.tables.session import open_session
    from winnow.pipeline import backfill, match_documents
    from winnow.pipeline import run as pipeline
    from winnow.quality.gate import gate

    check_engine(args)
    lake = lake_path(args.lake)
    every = not (args.date or args.first or args.last)
    known = backfill.known_dates(lake)
    dates = known if every else tuple(date for date in dates_of(args) if date in known)
    if not dates:
        print("no documents in these dates; nothing to do")
        return 0
    session = open_session(master=args.master)
    if args.dry_run:
        config = match_documents.Config(
            lake=lake, dates=dates, run_id=args.run_id, engine=args.engine, only=args.profiles
        )
        rows = list(backfill.estimate(session, config))
        print(json.dumps([row._asdict() for row in rows], default=str) if args.json else _table(rows))
        return 0
    config_of_run = pipeline.Config(lake=lake, dates=dates, run_id=args.run_id, engine=args.engine, only=args.profiles)
    for report in pipeline.run(session, config_of_run, None if args.no_audit else gate(session, lake, args.run_id)):
        print(report.render(), flush=True)
    return 0


def _table(rows: Sequence[tuple[object, ...]]) -> str:
    lines = [f"{'date':<10}  {'documents':>12}  {'profiles':>10}  {'pairs':>16}  {'looked at':>12}"]
    lines += [f"{row[0]!s:<10}  {row[1]:>12,}  {row[2]:>10,}  {row[3]:>16,}  {row[4]:>12,}" for row in rows]
    return "\n".join(lines)
