"""`winnow audit --date D`: would the gate let the staged answers of a date be published?"""

import argparse

from winnow.cli.common import add_lake_arguments, date, positive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", type=date, required=True, help="the data interval, e.g. 2026-11-16")
    parser.add_argument("--staged-version", type=int, help="of matches_staged (default: the newest one of the date)")
    parser.add_argument("--run-id", default="manual", help="kept with every row, e.g. the scheduler's run id")
    parser.add_argument("--sample", type=positive, help="pairs that libxml2 evaluates again")
    parser.add_argument("--seed", type=int, default=0, help="another one draws another sample")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.lake.contracts import lake_path
    from winnow.tables.session import open_session
    from winnow.pipeline.publish_matches import staged_version
    from winnow.quality import gate

    lake = lake_path(args.lake)
    version = staged_version(lake, args.date) if args.staged_version is None else args.staged_version
    config = gate.Config(
        lake=lake,
        date=args.date,
        staged_version=version,
        run_id=args.run_id,
        seed=args.seed,
        **({"sample": args.sample} if args.sample else {}),
    )
    print(gate.run(open_session(master=args.master), config).render())
    return 0
