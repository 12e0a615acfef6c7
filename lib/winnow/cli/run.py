"""`winnow run --date D`: match the documents of a date and publish the answers, in one session."""

import argparse

from winnow.cli.common import add_lake_arguments, date


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--date", required=True, type=date, help="the data interval, e.g. 2026-11-16")
    parser.add_argument("--engine", default="boxpath", metavar="NAME", help="boxpath (default), boxfilter, b-boxfilter")
    parser.add_argument("--run-id", default="manual", help="kept with every row, e.g. the scheduler's run id")
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.lake.contracts import lake_path
    from winnow.lake.session import open_session
    from winnow.pipeline import match_documents, publish_matches

    lake = lake_path(args.lake)
    session = open_session(master=args.master)
    config = match_documents.Config(lake=lake, date=args.date, run_id=args.run_id, engine=args.engine)
    matched = match_documents.run(session, config)
    print(matched.render())
    staged = matched.counts["staged version"]
    publish = publish_matches.Config(lake=lake, date=args.date, staged_version=staged, run_id=args.run_id)
    print(publish_matches.run(publish).render())
    return 0
