"""`winnow forget --document ID | --source PATH | --before DATE`: documents and all that was derived from them."""

import argparse
import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.cli.common import add_lake_arguments, date, lake_of, session_of
from winnow.cli.showing import show, show_all

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--document", metavar="ID", help="one document, by its sha256")
    what.add_argument(
        "--source", metavar="PATH", help="all documents seen in a file, or below a folder, as in the column source"
    )
    what.add_argument("--before", type=date, metavar="DATE", help="all documents of earlier dates")
    parser.add_argument("--dry-run", action="store_true", help="say what would go; change nothing")
    parser.add_argument(
        "--deliveries",
        type=Path,
        default=Path(".winnow/deliveries"),
        metavar="FOLDER",
        help="delivered files of the dates concerned are written anew here (.winnow/deliveries)",
    )
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    delivered = sorted(args.deliveries.glob("????-??-??/*.jsonl"))
    (report,) = show_all(args, reports(args))
    if args.dry_run:
        for name, count in report.counts.items():
            show(args, f"  {count:>10,} {name}")
        show(args, "nothing was changed; without --dry-run all of it goes")
    elif report.counts["documents"]:
        for day in sorted({file.parent.name for file in delivered}):
            _deliver_again(args, dt.date.fromisoformat(day))
        show(
            args,
            "older versions of the tables keep it until VACUUM: `winnow maintain`, after the retention of 30 days,",
        )
        show(args, "makes it final. Pages of reports are gone; `winnow report --date D` writes one anew")
    return 0


def reports(args: argparse.Namespace) -> "Iterator[RunReport]":
    from winnow.jobs import forget

    config = forget.Config(
        lake=lake_of(args), document=args.document, source=args.source, before=args.before, dry_run=args.dry_run
    )
    yield forget.run(session_of(args), config)


def _deliver_again(args: argparse.Namespace, day: dt.date) -> None:
    """Removes the files of a date first: of a destination that is sent nothing any more, none is written."""
    from winnow.query import deliver

    for file in (args.deliveries / str(day)).glob("*.jsonl"):
        file.unlink()
    deliver.run(deliver.Config(lake=lake_of(args), date=day, folder=args.deliveries))
