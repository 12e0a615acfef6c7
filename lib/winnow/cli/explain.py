"""`winnow explain DOCUMENT --profile XPATH`: why it matches, or where it fails first and what is probably mistaken.

Exit code 0 when it matches, 1 when it does not, 3 when that took too long to decide.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.cli.common import add_evaluation_arguments, add_lake_arguments, binding, evaluation_of, readable_lake
from winnow.cli.showing import painted, show

if TYPE_CHECKING:
    from winnow.explain import Story
    from winnow.mistakes import Mistake


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="?", metavar="DOCUMENT", help="a file")
    parser.add_argument("--document", metavar="ID", help="instead of a file: a document of the lake, by its sha256")
    parser.add_argument(
        "--profile",
        required=True,
        metavar="XPATH|ID",
        help="an XPath; with --document, a profile of the lake by its id",
    )
    parser.add_argument(
        "--namespace", type=binding, action="append", default=[], metavar="PREFIX=URI", help="may be repeated"
    )
    parser.add_argument("--ordered", action="store_true", help="sibling branches must match in document order")
    add_evaluation_arguments(parser)
    add_lake_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from winnow.errors import DataError
    from winnow.explain import explain
    from winnow.xpath import Rejected

    content, xpath, namespaces, ordered = _asked(args)
    try:
        story = explain(content, xpath, namespaces, ordered=ordered, evaluation=evaluation_of(args))
    except Rejected as rejected:
        words = f"column {rejected.column}: {rejected.message}" if rejected.column else rejected.message
        raise DataError(rejected.code, words, hint=rejected.hint) from rejected
    if args.json:
        patterns = [{**p._asdict(), "branches": [b._asdict() for b in p.branches]} for p in story.patterns]
        mistake = story.mistake._asdict() if story.mistake else None
        show(args, "", {**story._asdict(), "patterns": patterns, "mistake": mistake})
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
    if story.selected:
        print(f"  it selects {story.selected}")
    for line in mistake_lines(story.mistake) if story.mistake else ():
        print(f"  {line}")
    return _status(story)


def mistake_lines(mistake: "Mistake") -> list[str]:
    """Returns what is probably mistaken, and the XPath that would match, with the prefixes to bind."""
    bindings = "".join(f" --namespace {prefix}={uri}" for prefix, uri in sorted(mistake.namespaces.items()))
    return [*mistake.words, f"this would match: {mistake.xpath}{bindings}"]


def _asked(args: argparse.Namespace) -> tuple[bytes, str, dict[str, str], bool]:
    """The document and the profile of the call, of files or of a lake."""
    from winnow.errors import DataError, UsageError
    from winnow.ingest.accept import DEFAULT_LIMITS, Refused, accept

    if (args.file is None) == (args.document is None):
        raise UsageError("no_input", "explain which document?", hint="give a file, or --document ID of the lake")
    if args.document is not None:
        from winnow.query.lookup import stored_document, stored_profile

        lake = readable_lake(args)
        return stored_document(lake, args.document), *stored_profile(lake, args.profile)
    if not args.file.is_file():
        raise UsageError("no_input", f"there is no document {str(args.file)!r}")
    content = args.file.read_bytes()
    verdict = accept(content, DEFAULT_LIMITS)
    if isinstance(verdict, Refused):
        place = f" (line {verdict.line}, column {verdict.column})" if verdict.line else ""
        raise DataError(verdict.reason, f"{args.file} is not a document: {verdict.message}{place}")
    return content, args.profile, dict(args.namespace), args.ordered


def _status(story: "Story") -> int:
    return 3 if story.undecided else 0 if story.matches else 1
