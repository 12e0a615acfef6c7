"""`winnow status`: the tables of the lake."""

import argparse
import json

from winnow.cli.common import add_lake_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for machines")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.lake.contracts import table_names
    from winnow.lake.session import open_session
    from winnow.lake.tables import Lake, lake_path

    lake = Lake(open_session(master=args.master), lake_path(args.lake))
    states = [lake.state(table) for table in table_names() if lake.exists(table)]
    if args.json:
        print(json.dumps([state._asdict() for state in states]))
        return 0
    print(f"lake {lake.path}")
    if not states:
        print("  no tables yet; `winnow ingest documents` makes the first")
    for state in states:
        size = f"{state.size_bytes / 1e6:,.1f} MB"
        counts = f"{state.rows:>12,} rows  {state.files:>6,} files  {size:>12}"
        print(f"  {state.table:<20} version {state.version:>4}  {counts}")
    return 0
