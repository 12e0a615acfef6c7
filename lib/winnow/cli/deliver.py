"""`winnow deliver --date D`: what is to be sent, as one JSONL file per destination."""

import argparse
from pathlib import Path

from winnow.cli.common import add_lake_arguments, date, readable_lake
from winnow.cli.showing import show, show_all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", required=True, type=date, help="the data interval, e.g. 2026-11-16")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path(".winnow/deliveries"),
        metavar="FOLDER",
        help="files go to FOLDER/DATE/ (default: .winnow/deliveries)",
    )
    parser.add_argument("--destination", help="only this one")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.query import deliver

    config = deliver.Config(lake=readable_lake(args), date=args.date, folder=args.output, destination=args.destination)
    show_all(args, [deliver.run(config)])
    place = args.output / str(args.date)
    show(args, f"  in {place}", {"place": str(place)})
    return 0
