"""`winnow setup-jars`: bring the Delta jars from Maven Central, once; sessions then download nothing."""

import argparse

from winnow.cli.showing import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--again", action="store_true", help="also where they are already there")


def run(args: argparse.Namespace) -> int:
    from winnow.errors import UsageError
    from winnow.tables.jars import fetch_jars, require_delta_jars

    try:
        require_delta_jars()
    except UsageError:
        pass
    else:
        if not args.again:
            show(args, "the Delta jars are there", {"fetched": False})
            return 0
    show(args, "getting the Delta jars from Maven Central; this may take a minute")
    folder = str(fetch_jars())
    show(args, f"the Delta jars are in {folder}", {"fetched": True, "folder": folder})
    return 0
