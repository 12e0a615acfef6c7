"""`winnow query`: the published matches by document, profile, subscriber, destination or date; or any SELECT."""

import argparse
import csv
import json
import sys
from typing import Any

from winnow.cli.common import add_lake_arguments, date, lake_of, positive, readable_lake, session_of

SHOWN = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--document", metavar="ID", help="sha256 of the document's bytes")
    parser.add_argument("--source", help="where the document was seen, as in the column source")
    parser.add_argument("--profile", metavar="ID")
    parser.add_argument("--subscriber")
    parser.add_argument("--destination")
    parser.add_argument("--date", type=date)
    parser.add_argument("--sql", help="one SELECT over the tables of the lake instead")
    parser.add_argument("--version", type=int, help="matches as of this version (time travel; see `winnow status`)")
    parser.add_argument("--limit", type=positive, help=f"rows (default: {SHOWN} on a terminal, else all)")
    parser.add_argument("--format", choices=("table", "csv", "jsonl"), help="default: table; --json is --format jsonl")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.errors import UsageError
    from winnow.query import matches

    wanted = {name: getattr(args, name) for name in matches.FILTERS}
    shape = args.format or ("jsonl" if args.json else "table")
    limit = args.limit or (SHOWN if shape == "table" else 0)
    lake = lake_of(args)
    if lake.is_catalog and args.sql is None:
        from winnow.query import in_session

        chosen = {matches.FILTERS[name]: value for name, value in wanted.items() if value is not None}
        rows = in_session.matches(lake.open(session_of(args)), chosen, version=args.version, limit=limit)
    elif args.sql is not None:
        if any(value is not None for value in wanted.values()):
            raise UsageError("two_questions", "--sql goes without filters", hint="put them into the WHERE clause")
        rows = matches.sql(readable_lake(args), args.sql, version=args.version, limit=limit)
    else:
        rows = matches.matches(lake, wanted, version=args.version, limit=limit)
    if shape == "table":
        _print_table(rows.read_all(), limit)
    elif shape == "csv":
        _print_csv(rows)
    else:
        for batch in rows:
            for row in batch.to_pylist():
                print(json.dumps(row, default=str, ensure_ascii=False))
    return 0


def _print_csv(rows: Any) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(rows.schema.names)
    for batch in rows:
        writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _print_table(rows: Any, limit: int) -> None:
    names = rows.column_names
    cells = [[str("" if value is None else value) for value in column.to_pylist()] for column in rows.columns]
    cells = [[text if len(text) <= 48 else f"{text[:22]}…{text[-25:]}" for text in column] for column in cells]
    widths = [max(map(len, [name, *column])) for name, column in zip(names, cells, strict=True)]
    print("  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)))
    for row in zip(*cells, strict=True):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))
    print(f"{rows.num_rows:,} rows{' (--limit shows more)' if rows.num_rows == limit else ''}")
