"""The commands of `winnow`, in the groups in which its help lists them, and how a call is read.

argparse is enough: it starts in milliseconds and is there wherever Python is. A call is read in two steps, first the
command and what stands before it, then the command's own words; so only the module of one command is imported.
"""

import argparse
import difflib
import importlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple, NoReturn

from winnow import __version__
from winnow.errors import UsageError


class Command(NamedTuple):
    module: str  # has add_arguments(parser) and run(args) -> exit code
    what: str


GROUPS = {
    "every day": {
        "ingest": Command("winnow.cli.ingest", "bring documents or profiles into the lake"),
        "run": Command("winnow.cli.run", "encode, index, match and publish a date or a range"),
        "query": Command(
            "winnow.cli.query", "published matches by document, profile, subscriber, destination, date, or SQL"
        ),
        "status": Command("winnow.cli.status", "tables of the lake: version, rows, files, size"),
        "report": Command("winnow.cli.report", "one page that tells what happened on a date"),
        "deliver": Command("winnow.cli.deliver", "what is to be sent, as JSONL per destination"),
        "backfill": Command("winnow.cli.backfill", "ask new profiles of all history, or of a range"),
    },
    "on files, without a lake": {
        "match": Command("winnow.cli.match", "match documents against profiles, in one process"),
        "explain": Command("winnow.cli.explain", "why a document satisfies a profile, or where it fails"),
        "check": Command("winnow.cli.check", "what the profile language makes of each profile"),
        "generate": Command("winnow.cli.generate", "make documents, profiles and DTDs, of any number, from a seed"),
    },
    "look after it": {
        "doctor": Command("winnow.cli.doctor", "what this machine has and lacks, and what mends it"),
        "open-dates": Command("winnow.cli.open_dates", "which dates have something to do, and why"),
        "audit": Command("winnow.cli.audit", "would the gate let the staged answers of a date pass?"),
        "forget": Command("winnow.cli.forget", "take documents and all that was derived from them out of every table"),
        "maintain": Command("winnow.cli.steps", "OPTIMIZE, VACUUM and file counts of all tables"),
        "setup-kernels": Command("winnow.cli.setup_kernels", "compile what is compiled for this machine, beforehand"),
        "setup-jars": Command("winnow.cli.setup_jars", "get the Delta jars that Spark needs, checked by sha256"),
        "connect-server": Command(
            "winnow.cli.connect_server", "a Spark Connect server on loopback for jobs that share a session"
        ),
        "completion": Command("winnow.cli.completion", "words for your shell: bash, zsh or tcsh"),
    },
    "measure": {
        "bench": Command("winnow.cli.bench", "measure, as ratios in one run"),
        "reproduce": Command("winnow.cli.reproduce", "the figures of the papers, measured again with every engine"),
    },
    "single jobs, as a scheduler runs them": {
        "encode-documents": Command("winnow.cli.steps", "documents to rows that engines read, and their paths"),
        "sample-values": Command("winnow.cli.steps", "how rare labels and values are, from a sample of all documents"),
        "encode-profiles": Command("winnow.cli.steps", "profiles to patterns and branches"),
        "build-index": Command("winnow.cli.steps", "branches, or what the engine searches, to trees in partitions"),
        "join-paths": Command("winnow.cli.steps", "new paths with all branches, new branches with all paths"),
        "match-documents": Command("winnow.cli.steps", "answer what is still open, into matches_staged"),
        "publish-matches": Command("winnow.cli.steps", "staged answers to matches and deliveries"),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


class Parser(argparse.ArgumentParser):
    """Reports a wrong call as every other error is reported."""

    def error(self, message: str) -> NoReturn:
        raise UsageError("bad_call", message, hint=f"`{self.prog} --help` lists what it takes")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Returns the arguments of a call; only the module of its command is imported, others may be heavy.

    >>> parse(["--lake", "L", "status", "--json"]).lake, parse(["status", "--lake", "L"]).lake
    ('L', 'L')

    Raises:
        UsageError: the call's words are off.
    """
    args = top_parser().parse_args(words)
    rest = args.__dict__.pop("rest")
    args = command_parser(args.command).parse_args(rest, args)
    if args.lake is not None and not getattr(args, "has_lake", False):
        raise UsageError("no_lake_here", f"winnow {args.command} works without a lake", hint="leave out --lake")
    return args


def top_parser() -> Parser:
    """Returns the parser of a command's name and of what stands before it."""
    parser = Parser(
        prog="winnow",
        usage="winnow COMMAND …",
        description="Which of these XPath profiles does each of these XML documents satisfy?",
        epilog="\n".join(_listed()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"winnow {__version__}")
    add_output_arguments(parser)
    for option in ("--lake", "--master"):
        parser.add_argument(option, help=argparse.SUPPRESS)
    parser.set_defaults(json=False, quiet=False, verbose=False, lake=None, master=None)
    parser.add_argument("command", metavar="COMMAND", type=_command, help=argparse.SUPPRESS)
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser


def command_parser(name: str) -> Parser:
    """Returns the parser of one command."""
    parser = Parser(prog=f"winnow {name}", description=COMMANDS[name].what)
    importlib.import_module(COMMANDS[name].module).add_arguments(parser)
    add_output_arguments(parser)
    return parser


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what every command takes, before its name or behind it."""
    group = parser.add_argument_group("output")
    hidden = argparse.SUPPRESS  # no default here: what stands before the command counts, too
    group.add_argument("--json", action="store_true", default=hidden, help="for machines: one JSON value a line")
    group.add_argument("-q", "--quiet", action="store_true", default=hidden, help="nothing but answers and errors")
    group.add_argument("-v", "--verbose", action="store_true", default=hidden, help="every counter, and log lines")


def _listed() -> Iterator[str]:
    width = max(map(len, COMMANDS))
    for title, group in GROUPS.items():
        yield f"{title}:"
        yield from (f"  {name:<{width}}  {command.what}" for name, command in group.items())
        yield ""
    yield "`winnow COMMAND --help` lists what a command takes. WINNOW_LAKE names the lake, as --lake does."
    yield "Exit codes: 0 done, 1 failed or no match, 2 wrong call, 3 done with refused input or undecided pairs,"
    yield "65 bad data, 75 try again, 130 interrupted."


def _command(name: str) -> str:
    if name not in COMMANDS:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise argparse.ArgumentTypeError(f"there is no command {name!r}{hint}")
    return name
