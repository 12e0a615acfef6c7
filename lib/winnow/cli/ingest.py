"""`winnow ingest documents PATH... --date D`, `winnow ingest profiles FILE`, and `winnow ingest --again`."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from winnow.cli.commands import add_output_arguments
from winnow.cli.common import (
    add_expansion_argument,
    add_lake_arguments,
    date,
    lake_of,
    positive,
    session_of,
    source,
    tag,
)
from winnow.cli.showing import show_all
from winnow.errors import UsageError

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport

REFUSED_INPUT = 3  # an exit code: done, and some of the input was refused


def add_arguments(parser: argparse.ArgumentParser) -> None:
    again = parser.add_argument_group("again, from the bytes that quarantine keeps; all that is left out means all")
    again.add_argument("--again", action="store_true", help="judge again what was refused, after a fix")
    again.add_argument("--reason", help="refused for this reason, e.g. too_deep")
    again.add_argument("--date", type=date, help="of this data interval")
    again.add_argument("--source", type=source, metavar="PATH", help="of this file, or below this folder")
    again.add_argument("--max-bytes", type=positive, help="refuse larger ones")
    again.add_argument("--max-nodes", type=positive, help="refuse those with more")
    add_lake_arguments(parser)
    kinds = parser.add_subparsers(dest="kind", metavar="documents|profiles")
    documents = kinds.add_parser("documents", help="XML files, directories, globs, .gz, .zip, .tar.gz")
    documents.add_argument("paths", nargs="+", metavar="PATH")
    documents.add_argument("--date", required=True, type=date, help="the data interval, e.g. 2026-11-16")
    documents.add_argument(
        "--record-tag", type=tag, help="split container files: each element of this name is a document"
    )
    documents.add_argument("--max-bytes", type=positive, help="refuse larger ones")
    documents.add_argument("--max-nodes", type=positive, help="refuse those with more")
    add_expansion_argument(documents)
    add_lake_arguments(documents)
    add_output_arguments(documents)
    profiles = kinds.add_parser("profiles", help="CSV or JSONL with profile_id, xpath and optional columns")
    profiles.add_argument("file", metavar="FILE")
    profiles.add_argument("--again", action="store_true", help="compile anew what the language has rejected before")
    profiles.add_argument("--retire-missing", action="store_true", help="retire profiles that FILE no longer holds")
    add_lake_arguments(profiles)
    add_output_arguments(profiles)


def run(args: argparse.Namespace) -> int:
    (report,) = show_all(args, reports(args))
    return REFUSED_INPUT if args.kind == "profiles" and report.counts["rejected"] else 0


def reports(args: argparse.Namespace) -> "Iterator[RunReport]":
    if args.kind is None:
        if not args.again:
            hint = "`winnow ingest documents PATH --date D`, `winnow ingest profiles FILE`, or `winnow ingest --again`"
            raise UsageError("no_input", "ingest what?", hint=hint)
        from winnow.jobs import ingest_again

        names = ("reason", "date", "source", "max_bytes", "max_nodes")
        given = {name: getattr(args, name) for name in names}
        yield ingest_again.run(session_of(args), ingest_again.Config(lake=lake_of(args), **given))
    elif args.kind == "documents":
        from winnow.ingest.sources import is_remote, require_input

        # Before Spark, which takes seconds; other stores are looked at where they are read.
        require_input(path for path in args.paths if not is_remote(path))
        from winnow.jobs import ingest_documents

        lake = lake_of(args)
        documents = ingest_documents.Config(lake=lake, paths=tuple(args.paths), date=args.date, options=_options(args))
        yield ingest_documents.run(session_of(args), documents)
    else:
        from winnow.ingest.profiles import require_profile_file
        from winnow.ingest.sources import is_remote
        from winnow.jobs import ingest_profiles

        if not is_remote(args.file):
            require_profile_file(args.file)
        lake = lake_of(args)
        profiles = ingest_profiles.Config(
            lake=lake, file=args.file, retire_missing=args.retire_missing, again=args.again
        )
        yield ingest_profiles.run(session_of(args), profiles)


def _options(args: argparse.Namespace) -> dict[str, str]:
    """Those of the format `winnow_xml`."""
    given = {
        "recordTag": args.record_tag,
        "maxBytes": args.max_bytes,
        "maxNodes": args.max_nodes,
        "maxExpansion": args.max_expansion,
    }
    return {name: str(value) for name, value in given.items() if value}
