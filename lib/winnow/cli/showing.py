"""What people see while jobs run and after them; and the same for machines."""

import argparse
import atexit
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any

from winnow.arrays.notices import on_compilation

if TYPE_CHECKING:
    from winnow.jobs.report import RunReport

_COLOURS = {"green": 32, "red": 31, "yellow": 33, "faint": 2, "bold": 1}
_SHOWN = 4  # counts of a job in its one line
_LOG_SECONDS = 15.0  # between lines where the output is a log, not a terminal


class ProgressLine:
    """One line that changes on a terminal, a line now and then in a log; the terminal's line goes when all is done."""

    def __init__(self) -> None:
        self._next = 0.0  # seconds
        self._width = 0

    def __call__(self, line: str, seconds: float) -> None:
        if sys.stderr.isatty():
            if not self._width:
                atexit.register(self.clear)
            print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = max(self._width, len(line))
        elif seconds >= self._next:
            print(line, file=sys.stderr, flush=True)
            self._next = seconds + _LOG_SECONDS

    def clear(self) -> None:
        print(f"\r{'':<{self._width}}\r", end="", file=sys.stderr, flush=True)


def show_compilation() -> None:
    """Says of every kernel that must be compiled first that it is being compiled: it takes long, once."""
    line = ProgressLine()
    on_compilation(
        lambda kernel, number, seconds: line(
            f"compiling kernels, once: {kernel[:50]} ({number}) … {seconds:.0f} s", seconds
        )
    )


def painted(text: str, colour: str, stream: IO[str] | None = None) -> str:
    """Returns the text in a colour where it is shown on a terminal, and as it is elsewhere."""
    shown_on = sys.stdout if stream is None else stream
    if not shown_on.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\033[{_COLOURS[colour]}m{text}\033[0m"


def show_reports(args: argparse.Namespace, reports: "Iterable[RunReport]") -> "Iterator[RunReport]":
    """Yields the reports, each shown as soon as it is there: in a line, with --verbose in full, with --json as JSON."""
    for report in reports:
        if args.json:
            print(json.dumps(asdict(report)), flush=True)
        elif not args.quiet and not report.place:
            print(report.render() if args.verbose else job_line(report), flush=True)
        yield report


def show_all(args: argparse.Namespace, reports: "Iterable[RunReport]") -> "list[RunReport]":
    """Shows the reports and returns them."""
    return list(show_reports(args, reports))


def job_line(report: "RunReport") -> str:
    """Returns a job's name, its seconds, and the first of its counts that are not zero.

    >>> from winnow.jobs.report import RunReport
    >>> print(job_line(RunReport("ingest_documents", {"read": 3000, "stored": 2, "duplicates": 0}, {"read": 1.25})))
    ingest_documents      1.2 s  3,000 read · 2 stored
    """
    counts = [f"{count:,} {name}" for name, count in report.counts.items() if count]
    words = " · ".join(counts[:_SHOWN]) or "nothing to do"
    return f"{report.job:<18} {sum(report.seconds.values()):>6.1f} s  {words}"


def show(args: argparse.Namespace, text: str, value: Any = None) -> None:
    """Prints a text for people, or with --json a value for machines; with --quiet nothing."""
    if args.json:
        if value is not None:
            print(json.dumps(value, default=str, ensure_ascii=False), flush=True)
    elif not args.quiet:
        print(text, flush=True)


def bar_options(args: argparse.Namespace) -> dict[str, Any]:
    """Returns the options of a progress bar: seldom in a log, never where only machines or nobody looks."""
    on_terminal = sys.stderr.isatty()
    return {"disable": args.quiet or args.json, "delay": 2.0, "mininterval": 0.5 if on_terminal else _LOG_SECONDS}
