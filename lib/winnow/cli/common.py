"""Arguments and types that subcommands share."""

import argparse
import datetime as dt


def add_lake_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lake", help="folder or Hadoop path of the tables (default: WINNOW_LAKE or .winnow/lake)")
    parser.add_argument("--master", help="Spark master (default: WINNOW_MASTER or local[*])")


def date(text: str) -> dt.date:
    """An ISO date.

    >>> date("2026-11-16")
    datetime.date(2026, 11, 16)
    """
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date like 2026-11-16") from None
