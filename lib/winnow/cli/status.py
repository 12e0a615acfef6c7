"""`winnow status`: the tables of the lake, and what waits to be tried again."""

import argparse
from collections.abc import Callable
from functools import partial

from winnow.cli.common import add_lake_arguments, lake_of, session_of
from winnow.cli.showing import show

_WAITING = {
    "quarantine": ("records in quarantine", "`winnow ingest --again [--reason R]` judges their bytes again"),
    "rejected_profiles": ("rejected profiles", "`winnow ingest profiles FILE --again`, after a fix"),
    "undecided": ("undecided pairs", "`winnow run --date D --full` asks them again"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    lake = lake_of(args)
    reasons: Callable[[str], dict[str, int]]
    if lake.is_catalog:
        from winnow.query import in_session

        tables = lake.open(session_of(args))
        states, reasons = list(in_session.table_states(tables)), partial(in_session.reasons_of, tables)
    else:
        from winnow.query.lookup import reasons_of
        from winnow.query.stored_tables import table_states

        states, reasons = list(table_states(lake)), partial(reasons_of, lake)
    if args.json:
        show(args, "", [row._asdict() for row in states])
        return 0
    print(f"lake {lake.location}")
    if not states:
        print("  no tables yet; `winnow ingest documents` makes the first")
    for row in states:
        size = f"{row.size_bytes / 1e6:,.1f} MB"
        counts = f"{row.rows:>12,} rows  {row.files:>6,} files  {size:>12}"
        print(f"  {row.table:<20} version {row.version:>4}  {counts}")
    for line in waiting(reasons):
        print(line)
    return 0


def waiting(reasons: Callable[[str], dict[str, int]]) -> list[str]:
    """Returns what was refused, rejected or given up, and so waits for somebody, with what tries it again."""
    lines = []
    for table, (what, again) in _WAITING.items():
        found = reasons(table)
        if found:
            listed = ", ".join(f"{count:,} {reason}" for reason, count in found.items())
            lines.append(f"waiting: {sum(found.values()):,} {what}: {listed}\n  {again}")
    return lines
