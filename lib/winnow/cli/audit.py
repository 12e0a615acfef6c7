"""`winnow audit --date D`: would the gate let the staged answers of a date be published?"""

import argparse

from winnow.cli.common import add_lake_arguments, add_run_argument, date, lake_of, positive, session_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", type=date, required=True, help="the data interval, e.g. 2026-11-16")
    parser.add_argument("--run", help="the run that staged them (default: the newest one of the date)")
    parser.add_argument("--sample", type=positive, help="pairs that libxml2 evaluates again")
    parser.add_argument("--seed", type=int, default=0, help="another one draws another sample")
    add_run_argument(parser)
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.jobs import audit_matches
    from winnow.jobs.staged_runs import newest_run

    lake, spark = lake_of(args), session_of(args)
    config = audit_matches.Config(
        lake=lake,
        date=args.date,
        run_id=args.run or newest_run(lake.open(spark), args.date),
        seed=args.seed,
        **({"sample": args.sample} if args.sample else {}),
    )
    print(audit_matches.run(spark, config).render())
    return 0
