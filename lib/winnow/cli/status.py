"""`winnow status`: the tables of the lake, and what waits to be tried again."""

import argparse
from typing import TYPE_CHECKING

from winnow.cli.common import add_lake_arguments, lake_of, session_of
from winnow.cli.showing import show

if TYPE_CHECKING:
    from winnow.tables.lake import Lake

_WAITING = {
    "quarantine": ("records in quarantine", "`winnow ingest --again [--reason R]` judges their bytes again"),
    "rejected_profiles": ("rejected profiles", "`winnow ingest profiles FILE --again`, after a fix"),
    "undecided": ("undecided pairs", "`winnow run --date D --full` asks them again"),
}


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
        show(args, "", [row._asdict() for row in states])
        return 0
    print(f"lake {lake.location}")
    if not states:
        print("  no tables yet; `winnow ingest documents` makes the first")
    for row in states:
        size = f"{row.size_bytes / 1e6:,.1f} MB"
        counts = f"{row.rows:>12,} rows  {row.files:>6,} files  {size:>12}"
        print(f"  {row.table:<20} version {row.version:>4}  {counts}")
    for line in [] if lake.is_catalog else waiting(lake):
        print(line)
    return 0


def waiting(lake: "Lake") -> list[str]:
    """Returns what was refused, rejected or given up, and so waits for somebody, with what tries it again."""
    from winnow.query.lookup import reasons_of

    lines = []
    for table, (what, again) in _WAITING.items():
        found = reasons_of(lake, table)
        if found:
            listed = ", ".join(f"{count:,} {reason}" for reason, count in found.items())
            lines.append(f"waiting: {sum(found.values()):,} {what}: {listed}\n  {again}")
    return lines
