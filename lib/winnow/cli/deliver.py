"""`winnow deliver --date D`: what is to be sent, as one JSONL file per destination."""

import argparse
from pathlib import Path

from winnow.cli.common import add_lake_arguments, date, lake_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", required=True, type=date, help="the data interval, e.g. 2026-11-16")
    parser.add_argument("--to", type=Path, default=Path(".winnow/deliveries"), help="folder; files go to TO/DATE/")
    parser.add_argument("--destination", help="only this one")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.query import deliver

    config = deliver.Config(lake=lake_of(args), date=args.date, folder=args.to, destination=args.destination)
    print(deliver.run(config).render())
    print(f"  in {args.to / str(args.date)}")
    return 0
