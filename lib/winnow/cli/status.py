"""`winnow status`: the tables of the lake."""

import argparse
import json

from winnow.cli.common import add_lake_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for machines")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.lake.contracts import lake_path, table_names
    from winnow.lake.store import state

    lake = lake_path(args.lake)
    states = [found for table in table_names() if (found := state(lake, table))]
    if args.json:
        print(json.dumps([row._asdict() for row in states]))
        return 0
    print(f"lake {lake}")
    if not states:
        print("  no tables yet; `winnow ingest documents` makes the first")
    for row in states:
        size = f"{row.size_bytes / 1e6:,.1f} MB"
        counts = f"{row.rows:>12,} rows  {row.files:>6,} files  {size:>12}"
        print(f"  {row.table:<20} version {row.version:>4}  {counts}")
    return 0
