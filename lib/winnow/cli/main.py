"""`winnow`: one verb per need.

Exit codes: 0 done, 1 failed, 2 wrong call, 3 done with refused input or undecided pairs, 65 bad data, 75 try again,
130 interrupted.
"""

import argparse
import importlib
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence

from winnow.cli.commands import COMMANDS, parse, top_parser
from winnow.cli.showing import show_compilation
from winnow.cli.storage import storage_error
from winnow.errors import UsageError, WinnowError, one_line, worker_error

__all__ = ["COMMANDS", "die_with_parent", "main", "parse"]
INTERRUPTED = 130
EXTRAS = dict.fromkeys(("pyspark", "deltalake", "duckdb", "great_expectations", "pandas", "jinja2"), "spark")
EXTRAS["matplotlib"] = "figures"


def die_with_parent() -> None:
    """Under spark-submit the JVM is our parent; when it is killed, so are we, instead of writing on as an orphan."""
    if "PYSPARK_GATEWAY_PORT" in os.environ and sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def main(arguments: Sequence[str] | None = None) -> int:
    die_with_parent()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        top_parser().print_help()
        return 2
    try:
        code = _run(words)
        sys.stdout.flush()  # whoever reads our output may have left: that is known when it is written
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # impatience while the JVM ends would only add a trace
        print("winnow: interrupted; run the same command again to finish", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has left, as `head` does; Python would complain once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _run(words: list[str]) -> int:
    as_json = "--json" in words
    try:
        args = parse(words)
        _configure_logging(args)
        if not args.quiet:
            show_compilation()
        code: int = importlib.import_module(COMMANDS[args.command].module).run(args)
    except WinnowError as error:
        return _report(error, as_json=as_json)
    except BrokenPipeError:
        raise
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        message = f"this needs {error.name}, which is not installed"
        return _report(UsageError("not_installed", message, hint=f"pip install 'winnow[{extra}]'"), as_json=as_json)
    except Exception as error:
        if known := worker_error(error) or storage_error(error, _lake(words)):
            logging.getLogger(__name__).debug("where it was raised", exc_info=True)
            return _report(known, as_json=as_json)
        # A person gets a sentence; a log keeps everything.
        level = logging.DEBUG if sys.stderr.isatty() else logging.ERROR
        logging.getLogger(__name__).log(level, "unexpected", exc_info=True)
        print(f"winnow: {type(error).__name__}: {one_line(error)} (WINNOW_LOG=DEBUG shows where)", file=sys.stderr)
        return 1
    return code


def _lake(words: list[str]) -> str:
    """Returns where the tables of a call are, for a message; empty where it has none."""
    args = parse(words)
    if not getattr(args, "has_lake", False):
        return ""
    from winnow.cli.common import lake_of

    return f"the lake {lake_of(args).location}"


def _configure_logging(args: argparse.Namespace) -> None:
    usual = "INFO" if args.verbose else "ERROR" if args.quiet else "WARNING"
    level = os.environ.get("WINNOW_LOG", usual)
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.setLevel(level)  # some libraries set levels of their own loggers
    if args.verbose:
        os.environ.setdefault("WINNOW_SPARK_LOG", "warn")


def _report(error: WinnowError, *, as_json: bool) -> int:
    """A person gets a sentence. Where nobody reads along, a line for machines is there, too: schedulers need it."""
    if not as_json:
        print(f"winnow: {error}", file=sys.stderr)
    if as_json or not sys.stderr.isatty():
        record = {"code": error.code, "message": error.message, "hint": error.hint, "exit": error.exit_code}
        print(json.dumps({"winnow_error": record}), file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
