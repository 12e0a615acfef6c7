"""`winnow forget --document ID | --source PATH | --before DATE`: documents and all that was derived from them."""

import argparse
import datetime as dt
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.cli.common import add_lake_arguments, date, lake_of, readable_lake, session_of, source
from winnow.cli.showing import show, show_all

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport

_TOLD = """older versions of the tables keep it until VACUUM: `winnow maintain`, after the retention of 30 days,
makes it final. Pages of reports are gone; `winnow report --date D` writes one anew"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--document", metavar="ID", help="one document, by its sha256")
    what.add_argument(
        "--source",
        type=source,
        metavar="PATH",
        help="all documents seen in a file, or below a folder, as in the column source",
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
    if not any(report.counts.values()):
        show(args, "there is nothing of it in the lake")
    elif args.dry_run:
        for name, count in report.counts.items():
            show(args, f"  {count:>10,} {name}")
        show(args, "nothing was changed; without --dry-run all of it goes")
    else:
        for day in sorted({file.parent.name for file in delivered}):
            _deliver_again(args, day)
        show(args, _TOLD)
    return 0


def reports(args: argparse.Namespace) -> "Iterator[RunReport]":
    from winnow.jobs import forget

    config = forget.Config(
        lake=lake_of(args), document=args.document, source=args.source, before=args.before, dry_run=args.dry_run
    )
    yield forget.run(session_of(args), config)


def _deliver_again(args: argparse.Namespace, day: str) -> None:
    """Replaces the files of a date by those of now; of a destination that is sent nothing any more, none is left."""
    from winnow.errors import DataError
    from winnow.query import deliver

    folder = args.deliveries / day
    with tempfile.TemporaryDirectory(prefix=".", dir=args.deliveries) as fresh:
        try:
            deliver.run(deliver.Config(lake=readable_lake(args), date=dt.date.fromisoformat(day), folder=Path(fresh)))
        except DataError:  # what was sent is no longer kept; then it is a date of which nothing was forgotten
            return
        for file in folder.glob("*.jsonl"):
            file.unlink()
        for file in (Path(fresh) / day).glob("*.jsonl"):
            file.replace(folder / file.name)
