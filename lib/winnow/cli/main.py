"""`winnow`: one verb per need.

Exit codes: 0 done, 1 failed, 2 wrong call, 3 done with refused input or undecided pairs, 65 bad data, 75 try again.
"""

import argparse
import importlib
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence

from winnow import __version__
from winnow.errors import WinnowError, one_line, worker_error

# name -> (module, what it does). A module has add_arguments(parser) and run(args) -> exit code.
COMMANDS = {
    "ingest": ("winnow.cli.ingest", "bring documents or profiles into the lake"),
    "run": ("winnow.cli.run", "encode, index, match and publish a date or a range"),
    "backfill": ("winnow.cli.backfill", "ask new profiles of all history, or of a range"),
    "query": ("winnow.cli.query", "published matches by document, profile, subscriber, destination, date, or SQL"),
    "report": ("winnow.cli.report", "one page that tells what happened on a date"),
    "deliver": ("winnow.cli.deliver", "what is to be sent, as JSONL per destination"),
    "audit": ("winnow.cli.audit", "would the gate let the staged answers of a date pass?"),
    "status": ("winnow.cli.status", "tables of the lake: version, rows, files, size"),
    "match": ("winnow.cli.match", "match documents against profiles, in one process"),
    "explain": ("winnow.cli.explain", "why a document satisfies a profile, or where it fails"),
    "check": ("winnow.cli.check", "what the profile language makes of each profile"),
    "bench": ("winnow.cli.bench", "measure, as ratios in one run"),
    "reproduce": ("winnow.cli.reproduce", "the figures of the papers, measured again with every engine"),
    "encode-documents": ("winnow.cli.steps", "job: documents to rows that engines read, and their paths"),
    "sample-values": ("winnow.cli.steps", "job: how rare labels and values are, from a sample of all documents"),
    "encode-profiles": ("winnow.cli.steps", "job: profiles to patterns and branches"),
    "build-index": ("winnow.cli.steps", "job: branches to envelope trees in partitions"),
    "build-sequence-trees": ("winnow.cli.steps", "job: pieces of patterns to the trees of boxfilter and b-boxfilter"),
    "join-paths": ("winnow.cli.steps", "job: new paths with all branches, new branches with all paths"),
    "match-documents": ("winnow.cli.steps", "job: answer what is still open, into matches_staged"),
    "publish-matches": ("winnow.cli.steps", "job: staged answers to matches and deliveries"),
    "maintain": ("winnow.cli.steps", "OPTIMIZE, VACUUM and file counts of all tables"),
    "connect-server": ("winnow.cli.connect_server", "a Spark Connect server on loopback for jobs that share a session"),
    "generate": ("winnow.cli.generate", "make documents, profiles and DTDs, of any number, from a seed"),
    "setup-kernels": ("winnow.cli.setup_kernels", "compile what is compiled for this machine, before the first run"),
}


def die_with_parent() -> None:
    """Under spark-submit the JVM is our parent; when it is killed, so are we, instead of writing on as an orphan."""
    if "PYSPARK_GATEWAY_PORT" in os.environ and sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Returns the arguments of a command; only the module of the chosen command is imported, others may be heavy."""
    parser = argparse.ArgumentParser(prog="winnow", description="Which XPath profiles does each XML document satisfy?")
    parser.add_argument("--version", action="version", version=f"winnow {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, what) in COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what)
        if name in arguments:
            importlib.import_module(module).add_arguments(command)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    die_with_parent()
    args = parse(list(sys.argv[1:] if arguments is None else arguments))
    logging.basicConfig(level=os.environ.get("WINNOW_LOG", "WARNING"), format="%(levelname)s %(name)s: %(message)s")
    try:
        code: int = importlib.import_module(COMMANDS[args.command][0]).run(args)
    except WinnowError as error:
        return _report(error)
    except KeyboardInterrupt:
        print("winnow: interrupted; run the same command again to finish", file=sys.stderr)
        return 130
    except BrokenPipeError:  # whoever read our output has left, as `head` does; Python would complain once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if raised := worker_error(error):
            logging.getLogger(__name__).debug("in a worker", exc_info=True)
            return _report(raised)
        # A person gets a sentence; a log keeps everything.
        level = logging.DEBUG if sys.stderr.isatty() else logging.ERROR
        logging.getLogger(__name__).log(level, "unexpected", exc_info=True)
        print(f"winnow: {type(error).__name__}: {one_line(error)} (WINNOW_LOG=DEBUG shows where)", file=sys.stderr)
        return 1
    return code


def _report(error: WinnowError) -> int:
    print(f"winnow: {error}", file=sys.stderr)
    if not sys.stderr.isatty():  # one line for machines: schedulers decide by it
        record = {"code": error.code, "message": error.message, "hint": error.hint, "exit": error.exit_code}
        print(json.dumps({"winnow_error": record}), file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
