"""`winnow run --date D`: encode, index, match and publish the documents of a date or of a range, in one session."""

import argparse

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_interval_arguments(parser)
    add_engine_argument(parser)
    parser.add_argument("--full", action="store_true", help="ask everything again, also what the ledger has answered")
    parser.add_argument("--no-audit", action="store_true", help="publish without asking the quality gate")
    parser.add_argument("--shard", type=positive, help="profiles of one matcher; more are asked shard by shard")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.jobs import run as pipeline
    from winnow.report.write import write

    check_engine(args)
    lake, spark = lake_of(args), session_of(args)
    dates = dates_and_pending(args, spark, lake)
    if not dates:
        print("nothing is pending")
        return 0
    config = pipeline.Config(
        lake=lake,
        dates=dates,
        run_id=pipeline.new_run_id(args.run_id),
        engine=args.engine,
        full=args.full,
        **({"shard": args.shard} if args.shard else {}),
    )
    for report in pipeline.run(spark, config, None if args.no_audit else gate_of(spark, lake)):
        print(report.render(), flush=True)
    print(f"report: {write(lake, dates[-1])}")
    return 0
