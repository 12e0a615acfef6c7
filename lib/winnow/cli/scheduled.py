"""Commands as a scheduler runs them: their results are data, and so are their errors.

In the scheduler's own process `run_command` yields what each job has done. Under spark-submit `main` writes the same
to the file that `--result=FILE` names, with the error if there is one, so that nothing is read from printed text.
"""

import importlib
import json
import socket
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlparse

from winnow.cli.main import COMMANDS, die_with_parent, parse
from winnow.errors import TransientError, WinnowError, one_line, worker_error

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.jobs.report import RunReport
    from winnow.tables.traffic import TableTraffic

RESULT = "--result"
RETRIES, MAX_BACKOFF = 8, 5_000  # ms: a client gives up after half a minute, where its own policy has ten
_LOST = ("UNAVAILABLE", "INVALID_HANDLE.", "RETRIES_EXCEEDED", "Retries exceeded", "Connection refused")


def connect(server: str) -> "SparkSession":
    """Returns a session of a Spark Connect server; who schedules tries again by himself, so the client soon gives up.

    Raises:
        TransientError: nothing answers there.
    """
    from pyspark.sql.connect.client.retries import DefaultPolicy

    from winnow.tables.session import open_session

    address = urlparse(server)
    try:
        socket.create_connection((address.hostname, address.port or 15002), timeout=10).close()
    except OSError as error:
        raise _lost(f"no Spark Connect server answers at {address.hostname}:{address.port}: {error}") from error
    session = open_session(master=server)
    client: Any = cast(Any, session).client
    client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=MAX_BACKOFF)])
    return session


def run_command(arguments: Sequence[str]) -> "Iterator[RunReport]":
    """Yields what each job of a command has done, e.g. `run_command(["match-documents", "--date=2026-11-16"])`.

    Raises:
        WinnowError: also where it was raised on a worker, and where the server of the session was lost.
    """
    args = parse(arguments)
    try:
        yield from importlib.import_module(COMMANDS[args.command][0]).reports(args)
    except WinnowError:
        raise
    except Exception as error:
        if raised := worker_error(error):
            raise raised from error
        if any(word in str(error) or word in type(error).__name__ for word in _LOST):
            raise _lost(f"the Spark Connect server went away: {one_line(error)}") from error
        raise


def versions_seen(traffic: "TableTraffic", arguments: Sequence[str]) -> dict[str, dict[str, int]]:
    """Returns the versions of the tables that a command has read and written."""
    if not (traffic.read or traffic.written):
        return {"read": {}, "written": {}}
    from winnow.cli.common import lake_of, session_of

    args = parse(arguments)
    read, written = traffic.versions(lake_of(args).open(session_of(args)))
    return {"read": read, "written": written}


def main(command: Sequence[str]) -> int:
    """Runs a command, given the words before its arguments, for the entries in `jobs/`."""
    from winnow.tables.traffic import table_traffic

    die_with_parent()
    given = sys.argv[1:]
    file = _result_file(given)
    arguments = [*command, *(word for word in given if not word.startswith(f"{RESULT}="))]
    done: list[dict[str, Any]] = []
    try:
        with table_traffic() as traffic:
            for report in run_command(arguments):
                print(report.render(), flush=True)
                done.append(asdict(report))
        seen = versions_seen(traffic, arguments) if file else {}
    except WinnowError as error:
        print(f"winnow: {error}", file=sys.stderr)
        raised = {"code": error.code, "message": error.message, "hint": error.hint, "exit": error.exit_code}
        _write(file, {"reports": done, "error": raised})
        return error.exit_code
    except Exception as error:
        _write(file, {"reports": done, "error": {"code": "failed", "message": one_line(error), "hint": "", "exit": 1}})
        raise
    _write(file, {"reports": done, "tables": seen})
    return 0


def _lost(words: str) -> TransientError:
    return TransientError("server_lost", words, hint="the next try opens a session anew")


def _result_file(given: Sequence[str]) -> Path | None:
    named = [word.removeprefix(f"{RESULT}=") for word in given if word.startswith(f"{RESULT}=")]
    return Path(named[-1]) if named else None


def _write(file: Path | None, result: dict[str, Any]) -> None:
    if file:
        file.write_text(json.dumps(result))
