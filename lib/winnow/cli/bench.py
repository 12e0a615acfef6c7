"""`winnow bench`: measurements as ratios in one run."""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="ingest")
    ingest = kinds.add_parser("ingest", help="ingest into Delta beside one-thread lxml parsing of the same bytes")
    ingest.add_argument("--documents", type=int, default=100_000, help="in ten .tar.gz")
    ingest.add_argument("--singles", type=int, default=20_000, help="single files")
    ingest.add_argument("--folder", type=Path, default=Path(".winnow/bench"), help="where inputs and lakes go")
    ingest.add_argument("--master", default="local[2]")
    ingest.add_argument("--json", action="store_true", help="for machines")


def run(args: argparse.Namespace) -> int:
    from winnow.bench import ingest

    result = ingest.run(args.folder, documents=args.documents, singles=args.singles, master=args.master)
    if args.json:
        print(json.dumps(result))
        return 0
    print(f"session start {result['session_seconds']} s (apart), {result['master']}")
    for name in ("archives", "single_files"):
        part = result[name]
        print(
            f"{name:<13} {part['documents']:>8,} documents {part['megabytes']:>8,.1f} MB  "
            f"lxml {part['lxml_parse_seconds']:>6.2f} s  ingest {part['ingest_seconds']:>6.2f} s  "
            f"ratio {part['ratio']:.2f}"
        )
    return 0
