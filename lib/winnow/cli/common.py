"""Arguments and types that subcommands share."""

import argparse
import datetime as dt
import importlib.util
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.deciding.limits import EvaluationLimits
    from winnow.ingest.expansion import ExpansionLimits
    from winnow.jobs.run import Gate
    from winnow.tables.lake import Lake


def add_lake_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where")
    group.add_argument(
        "--lake",
        default=argparse.SUPPRESS,  # what stands before the command counts, too
        help="a folder, s3a://bucket/lake or catalog.schema of the tables (default: WINNOW_LAKE or .winnow/lake)",
    )
    group.add_argument(
        "--master",
        default=argparse.SUPPRESS,
        help="Spark master, or sc://host:port of a Connect server (default: WINNOW_MASTER or local[*])",
    )
    parser.set_defaults(has_lake=True)


def lake_of(args: argparse.Namespace) -> "Lake":
    from winnow.tables.lake import Lake

    return Lake.at(args.lake)


def readable_lake(args: argparse.Namespace) -> "Lake":
    """The lake as it is read without Spark; where the tables of a catalog are, a session says."""
    lake = lake_of(args)
    return lake.open(session_of(args)).located() if lake.is_catalog else lake


def session_of(args: argparse.Namespace) -> "SparkSession":
    from winnow.tables.session import open_session

    if not (args.quiet or args.json or _kernels_are_kept()):
        print(
            "kernels are not compiled yet: the first run on this machine does it and takes minutes longer"
            " (`winnow setup-kernels` does it beforehand, and shows how far it is)",
            file=sys.stderr,
        )
    return open_session(master=args.master)


def _kernels_are_kept() -> bool:
    """Whether machine code lies in any of the places where it may; a client without kernels needs none."""
    if importlib.util.find_spec("numba") is None:
        return True
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    places = [Path(__file__).parents[1], Path(os.environ.get("NUMBA_CACHE_DIR") or cache), cache]
    return any(next(place.rglob("*.nbc"), None) for place in places)


def add_interval_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", type=date, help="the data interval, e.g. 2026-11-16")
    parser.add_argument("--from", dest="first", type=date, help="the first of a range of dates")
    parser.add_argument("--to", dest="last", type=date, help="the last of them, included")
    parser.add_argument("--dates", type=dates, default=(), metavar="D,D,…", help="several dates, not all of a range")
    parser.add_argument("--pending", action="store_true", help="every date that has documents not answered yet, too")
    add_run_argument(parser)


def add_metrics_arguments(parser: argparse.ArgumentParser) -> None:
    """For a job that is about no date, but done for the sake of some."""
    parser.add_argument("--dates", type=dates, default=(), metavar="D,D,…", help="the dates that its metrics belong to")
    add_run_argument(parser)


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run-id", default="manual", help="how the run's name begins, e.g. the scheduler's run id")


def add_engine_argument(parser: argparse.ArgumentParser) -> None:
    words = (
        "boxpath (default), boxfilter, b-boxfilter, xtrie, xtrie-eager, wfilter; nfa, buff, xfilter, each also with a "
        "strategy for values, as in nfa+bottom-up: +step-by-step, +top-down, +bottom-up, +top-down-pruned, "
        "+top-down-pruned-random. "
        "The same answers at other costs"
    )
    parser.add_argument("--engine", default="boxpath", metavar="NAME", help=words)


def check_engine(args: argparse.Namespace) -> None:
    """Refuses an unknown name before anything else is done. A client without kernels leaves it to the workers."""
    if importlib.util.find_spec("numba") is None:
        return
    from winnow.engines import resolve

    resolve(args.engine)


def dates_and_pending(args: argparse.Namespace, spark: "SparkSession", lake: "Lake") -> tuple[dt.date, ...]:
    """The dates that the call names, and with `--pending` those that are open."""
    if not args.pending:
        return dates_of(args)
    from winnow.jobs.backfill import pending_dates

    return tuple(sorted({*named_dates(args), *pending_dates(spark, lake)}))


def named_dates(args: argparse.Namespace) -> tuple[dt.date, ...]:
    """The dates that the call names, none without `--date` and `--from`."""
    return dates_of(args) if args.date or args.first or args.last or args.dates else ()


def dates_of(args: argparse.Namespace) -> tuple[dt.date, ...]:
    """The dates that `--date`, `--dates`, or `--from` and `--to` name."""
    if args.dates and not (args.date or args.first or args.last):
        return tuple(sorted(set(args.dates)))
    if args.date and not (args.first or args.last or args.dates):
        return (args.date,)
    if args.date or args.dates or not (args.first and args.last):
        raise UsageError("no_interval", "which data interval?", hint="give --date D, or --from D --to D, or --pending")
    days = (args.last - args.first).days + 1
    if days < 1:
        raise UsageError("empty_interval", f"{args.first} is after {args.last}", hint="swap --from and --to")
    return tuple(args.first + dt.timedelta(days=day) for day in range(days))


def positive(text: str) -> int:
    """A whole number from 1.

    >>> positive("1000")
    1000
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def share(text: str) -> float:
    """From 0 to 1; percents, too.

    >>> share("0.25"), share("25%")
    (0.25, 0.25)
    """
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 1")
    return value


def tag(text: str) -> str:
    """An element's name; an empty one is mostly a variable that was not set.

    >>> tag("PubmedArticle")
    'PubmedArticle'
    """
    if not text or set(text) & set(" \t\r\n<>/='\""):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of an element")
    return text


def binding(text: str) -> tuple[str, str]:
    """PREFIX=URI.

    >>> binding("p=urn:x")
    ('p', 'urn:x')
    """
    prefix, _, uri = text.partition("=")
    if not prefix or not uri:
        raise argparse.ArgumentTypeError(f"{text!r} is not PREFIX=URI")
    return prefix, uri


def source(text: str) -> str:
    """A place as the column `source` has it: a URI, or an absolute path.

    >>> source("s3://bucket/a/"), source("/in/../in/a.xml")
    ('s3://bucket/a', '/in/../in/a.xml')
    """
    place = text.rstrip("/")
    return place if "://" in place else str(Path(place).absolute())


def date(text: str) -> dt.date:
    """An ISO date.

    >>> date("2026-11-16")
    datetime.date(2026, 11, 16)
    """
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date like 2026-11-16") from None


def dates(text: str) -> tuple[dt.date, ...]:
    """ISO dates, with commas between them.

    >>> dates("2026-11-16,2026-11-18")
    (datetime.date(2026, 11, 16), datetime.date(2026, 11, 18))
    """
    return tuple(date(part) for part in text.split(","))


def add_expansion_argument(parser: argparse.ArgumentParser) -> None:
    words = "bytes that may come out of each byte of a compressed file (200); the first 64 MiB are free"
    parser.add_argument("--max-expansion", type=positive, metavar="N", help=words)


def expansion_of(args: argparse.Namespace) -> "ExpansionLimits":
    """The limits of what may come out of a file, with the one that the arguments name."""
    from winnow.ingest.expansion import DEFAULT_EXPANSION

    unpacked = DEFAULT_EXPANSION.unpacked
    return DEFAULT_EXPANSION._replace(unpacked=unpacked._replace(per_byte=args.max_expansion or unpacked.per_byte))


def add_evaluation_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pair-seconds", type=positive, metavar="S", help="CPU time of one hybrid profile on one document (10)"
    )
    parser.add_argument(
        "--document-seconds", type=positive, metavar="S", help="CPU time of all hybrid profiles on one document (60)"
    )


def evaluation_of(args: argparse.Namespace) -> "EvaluationLimits":
    """The limits that the arguments name, the others as they are."""
    from winnow.deciding.limits import DEFAULT_EVALUATION

    return replace(
        DEFAULT_EVALUATION,
        pair_seconds=args.pair_seconds or DEFAULT_EVALUATION.pair_seconds,
        document_seconds=args.document_seconds or DEFAULT_EVALUATION.document_seconds,
    )


def gate_of(spark: "SparkSession", lake: "Lake") -> "Gate":
    """What stands between staged and published answers: the audit of a date of a run."""
    from winnow.jobs import audit_matches

    return lambda date, run_id: audit_matches.run(spark, audit_matches.Config(lake=lake, date=date, run_id=run_id))
