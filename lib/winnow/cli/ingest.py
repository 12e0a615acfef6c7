"""`winnow ingest documents PATH... --date D` and `winnow ingest profiles FILE`."""

import argparse

from winnow.cli.common import add_expansion_argument, add_lake_arguments, date, expansion_of, positive, tag
from winnow.ingest.accept import DEFAULT_LIMITS, Limits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="documents|profiles")
    documents = kinds.add_parser("documents", help="XML files, directories, globs, .gz, .zip, .tar.gz")
    documents.add_argument("paths", nargs="+", metavar="PATH")
    documents.add_argument("--date", required=True, type=date, help="the data interval, e.g. 2026-11-16")
    documents.add_argument(
        "--record-tag", type=tag, help="split container files: each element of this name is a document"
    )
    documents.add_argument("--max-bytes", type=positive, default=DEFAULT_LIMITS.max_bytes, help="refuse larger ones")
    documents.add_argument(
        "--max-nodes", type=positive, default=DEFAULT_LIMITS.max_nodes, help="refuse those with more"
    )
    add_expansion_argument(documents)
    add_lake_arguments(documents)
    profiles = kinds.add_parser("profiles", help="CSV or JSONL with profile_id, xpath and optional columns")
    profiles.add_argument("file", metavar="FILE")
    profiles.add_argument("--retire-missing", action="store_true", help="retire profiles that FILE no longer holds")
    add_lake_arguments(profiles)


def run(args: argparse.Namespace) -> int:
    from winnow.lake.contracts import lake_path

    lake = lake_path(args.lake)
    if args.kind == "documents":
        from winnow.ingest.sources import require_input

        require_input(args.paths)  # before Spark, which takes seconds
        from winnow.tables.session import open_session
        from winnow.pipeline import ingest_documents

        documents = ingest_documents.Config(
            lake=lake,
            paths=tuple(args.paths),
            date=args.date,
            record_tag=args.record_tag,
            limits=Limits(args.max_bytes, args.max_nodes),
            expansion=expansion_of(args),
        )
        report = ingest_documents.run(open_session(master=args.master), documents)
    else:
        from winnow.pipeline import ingest_profiles

        profiles = ingest_profiles.Config(lake=lake, file=args.file, retire_missing=args.retire_missing)
        report = ingest_profiles.run(profiles)
    print(report.render())
    return 0
