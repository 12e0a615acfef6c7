"""`winnow status`: the tables of the lake."""

import argparse
import json

from winnow.cli.common import add_lake_arguments, lake_of, session_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    lake = lake_of(args)
    if lake.is_catalog:
        from winnow.query import in_session

        states = list(in_session.table_states(lake.open(session_of(args))))
    else:
        from winnow.query.stored_tables import table_states

        states = list(table_states(lake))
    if args.json:
        print(json.dumps([row._asdict() for row in states]))
        return 0
    print(f"lake {lake.location}")
    if not states:
        print("  no tables yet; `winnow ingest documents` makes the first")
    for row in states:
        size = f"{row.size_bytes / 1e6:,.1f} MB"
        counts = f"{row.rows:>12,} rows  {row.files:>6,} files  {size:>12}"
        print(f"  {row.table:<20} version {row.version:>4}  {counts}")
    return 0
