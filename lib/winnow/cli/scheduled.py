"""Commands as a scheduler runs them: their results are data, and so are their errors.

In the scheduler's own process `run_command` yields what each job has done. Under spark-submit `main` writes the same
to the file that `--result=FILE` names, with the error if there is one, so that nothing is read from printed text.
"""

import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.cli.main import COMMANDS, die_with_parent, parse
from winnow.errors import WinnowError, one_line, worker_error

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport

RESULT = "--result"


def run_command(arguments: Sequence[str]) -> "Iterator[RunReport]":
    """Yields what each job of a command has done, e.g. `run_command(["match-documents", "--date=2026-11-16"])`.

    Raises:
        WinnowError: also where it was raised on a worker.
    """
    args = parse(arguments)
    try:
        yield from importlib.import_module(COMMANDS[args.command][0]).reports(args)
    except WinnowError:
        raise
    except Exception as error:
        if raised := worker_error(error):
            raise raised from error
        raise


def main(command: Sequence[str]) -> int:
    """Runs a command, given the words before its arguments, for the entries in `jobs/`."""
    die_with_parent()
    given = sys.argv[1:]
    file = _result_file(given)
    done: list[dict[str, Any]] = []
    try:
        for report in run_command([*command, *(word for word in given if not word.startswith(f"{RESULT}="))]):
            print(report.render(), flush=True)
            done.append(asdict(report))
    except WinnowError as error:
        print(f"winnow: {error}", file=sys.stderr)
        raised = {"code": error.code, "message": error.message, "hint": error.hint, "exit": error.exit_code}
        _write(file, {"reports": done, "error": raised})
        return error.exit_code
    except Exception as error:
        _write(file, {"reports": done, "error": {"code": "failed", "message": one_line(error), "hint": "", "exit": 1}})
        raise
    _write(file, {"reports": done})
    return 0


def _result_file(given: Sequence[str]) -> Path | None:
    named = [word.removeprefix(f"{RESULT}=") for word in given if word.startswith(f"{RESULT}=")]
    return Path(named[-1]) if named else None


def _write(file: Path | None, result: dict[str, Any]) -> None:
    if file:
        file.write_text(json.dumps(result))
