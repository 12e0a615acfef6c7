"""`winnow connect-server`: a Spark Connect server in the foreground, for jobs that share one session."""

import argparse
import os
import sys

from winnow.cli.common import positive


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=positive, default=15002)
    words = "where it listens; elsewhere than on loopback only with a token (default: 127.0.0.1)"
    parser.add_argument("--host", default="127.0.0.1", help=words)
    parser.add_argument("--master", help="the Spark master that it drives (default: WINNOW_MASTER or local[*])")


def run(args: argparse.Namespace) -> int:
    from winnow.tables.connect_server import TOKEN, become_server

    token = ";token=…" if os.environ.get(TOKEN) else ""
    print(f"clients open --master 'sc://localhost:{args.port}/{token}'; ^C ends it", file=sys.stderr, flush=True)
    become_server(args.port, master=args.master or os.environ.get("WINNOW_MASTER") or "local[*]", host=args.host)
    return 0
