"""`winnow setup-jars`: bring the Delta jars from Maven Central, once; sessions then download nothing."""

import argparse

from winnow.cli.showing import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--again", action="store_true", help="also where they are already there")
    parser.add_argument("--s3", action="store_true", help="also what lakes at s3a:// need: 640 MB")


def run(args: argparse.Namespace) -> int:
    from winnow.tables.jars import delta_jars, fetch_jars, folder_of, s3_jars

    for jars, what in ((delta_jars(), "Delta jars"), *([(s3_jars(), "jars for S3")] if args.s3 else [])):
        if folder_of(jars) and not args.again:
            show(args, f"the {what} are there", {"jars": what, "fetched": False})
            continue
        show(args, f"getting the {what} from Maven Central; this may take a minute")
        folder = str(fetch_jars(jars))
        show(args, f"the {what} are in {folder}", {"jars": what, "fetched": True, "folder": folder})
    return 0
