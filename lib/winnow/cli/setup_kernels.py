"""`winnow setup-kernels`: compile all kernels for this machine, so that no run has to."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from winnow.cli.showing import ProgressLine, show

if TYPE_CHECKING:
    from winnow.tools.compile_kernels import Progress


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
    line = ProgressLine()

    def show_progress(progress: "Progress") -> None:
        words = f"compiling kernels: {progress.compiled} of {progress.kernels} … {progress.seconds:.0f} s"
        line(f"{words} (once per machine and version; CPU {progress.cpu})", progress.seconds)

    done = compile_kernels(show_progress)
    text = f"kernels: {done.compiled} of {done.kernels} are compiled for CPU {done.cpu} ({done.seconds:.0f} s)"
    show(args, text, done._asdict())
    return 0
