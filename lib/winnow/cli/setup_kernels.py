"""`winnow setup-kernels`: compile all kernels for this machine, so that no run has to."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.tools.compile_kernels import Progress

_LOG_SECONDS = 15.0  # between lines where the output is a log, not a terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none: environment variables of numba say where machine code lies and for which CPU it is."""


def run(args: argparse.Namespace) -> int:
    from winnow.tools.compile_kernels import compile_kernels

    if "NUMBA_CPU_NAME" in os.environ and "NUMBA_CPU_FEATURES" not in os.environ:
        print(
            "NUMBA_CPU_NAME is set and NUMBA_CPU_FEATURES is not: numba then adds the features of this machine, and "
            "others compile again; set it, too (it may be empty)",
            file=sys.stderr,
        )
    done = compile_kernels(_ProgressLine())
    print(f"kernels: {done.compiled} of {done.kernels} are compiled for CPU {done.cpu} ({done.seconds:.0f} s)")
    return 0


class _ProgressLine:
    """One line that changes on a terminal, a line now and then in a log."""

    def __init__(self) -> None:
        self._next = 0.0  # seconds

    def __call__(self, progress: "Progress") -> None:
        line = (
            f"compiling kernels: {progress.compiled} of {progress.kernels} … {progress.seconds:.0f} s "
            f"(once per machine and version; CPU {progress.cpu})"
        )
        if sys.stderr.isatty():
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
        elif progress.seconds >= self._next:
            print(line, file=sys.stderr, flush=True)
            self._next = progress.seconds + _LOG_SECONDS
