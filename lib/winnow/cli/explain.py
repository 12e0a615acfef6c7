"""`winnow explain DOCUMENT --profile XPATH`: why it matches, or where it fails first.

Exit code 0 when it matches, 1 when it does not, 3 when that took too long to decide.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.cli.common import add_evaluation_arguments, binding, evaluation_of
from winnow.cli.showing import painted

if TYPE_CHECKING:
    from winnow.explain import Story


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", type=Path, metavar="DOCUMENT")
    parser.add_argument("--profile", required=True, metavar="XPATH")
    parser.add_argument(
        "--namespace", type=binding, action="append", default=[], metavar="PREFIX=URI", help="may be repeated"
    )
    parser.add_argument("--ordered", action="store_true", help="sibling branches must match in document order")
    add_evaluation_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.errors import DataError, UsageError
    from winnow.explain import explain
    from winnow.ingest.accept import DEFAULT_LIMITS, Refused, accept
    from winnow.xpath import Rejected

    if not args.document.is_file():
        raise UsageError("no_input", f"there is no document {str(args.document)!r}")
    content = args.document.read_bytes()
    verdict = accept(content, DEFAULT_LIMITS)
    if isinstance(verdict, Refused):
        place = f" (line {verdict.line}, column {verdict.column})" if verdict.line else ""
        raise DataError(verdict.reason, f"{args.document} is not a document: {verdict.message}{place}")
    try:
        story = explain(
            content, args.profile, dict(args.namespace), ordered=args.ordered, evaluation=evaluation_of(args)
        )
    except Rejected as rejected:
        words = f"column {rejected.column}: {rejected.message}" if rejected.column else rejected.message
        raise DataError(rejected.code, words, hint=rejected.hint) from rejected
    if args.json:
        patterns = [{**p._asdict(), "branches": [b._asdict() for b in p.branches]} for p in story.patterns]
        json.dump({**story._asdict(), "patterns": patterns}, sys.stdout, ensure_ascii=False)
        print()
        return _status(story)
    if story.undecided:
        print(f"undecided  ({story.klass}): {story.undecided}")
    else:
        answer = painted("matches", "green") if story.matches else painted("does not match", "red")
        print(f"{answer}  ({story.klass})")
    for reason in story.reasons:
        print(f"  libxml2 decides because of {reason}")
    if not story.patterns:
        print("  the profile is never true")
    for number, pattern in enumerate(story.patterns, start=1):
        which = f"alternative {number} of {len(story.patterns)}" if len(story.patterns) > 1 else "pattern"
        print(f"  {which}: {pattern.text}  {'holds' if pattern.holds else 'fails'}")
        for branch in pattern.branches:
            print(f"    {'✓' if branch.found else '✗'} {branch.text}\n        {branch.finding}")
        if pattern.note:
            print(f"    {pattern.note}")
    return _status(story)


def _status(story: "Story") -> int:
    return 3 if story.undecided else 0 if story.matches else 1
