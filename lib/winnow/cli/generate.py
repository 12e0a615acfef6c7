"""`winnow generate sample FOLDER`: documents and profiles to try things on."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="sample")
    sample = kinds.add_parser("sample", help="a few thousand documents of three vocabularies, and profiles for them")
    sample.add_argument("folder", type=Path)
    sample.add_argument("--documents", type=int, default=3000)
    sample.add_argument("--profiles", type=int, default=600)
    sample.add_argument("--seed", type=int, default=1)


def run(args: argparse.Namespace) -> int:
    from winnow.generate.sample import write_sample

    made = write_sample(args.folder, documents=args.documents, profiles=args.profiles, seed=args.seed)
    print(f"documents  {made.documents}\ncontainer  {made.container} (--record-tag trade)\nprofiles   {made.profiles}")
    return 0
