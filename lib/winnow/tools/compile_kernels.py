"""Compile all kernels beforehand, so that no run has to: after an installation, in an image, in a bootstrap script.

Numba compiles on one core, so the parts of the workload run in several processes. A receipt lists the files that they
used: while these are there, and neither sources nor CPU have changed, nothing is run again.
"""

import json
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from numba.core.registry import cpu_target

from winnow.arrays.kernel import KERNELS
from winnow.arrays.machine_code import content_hash, folders_of, write_whole
from winnow.arrays.sources import sources_digest
from winnow.engines import ENGINES, resolve
from winnow.errors import WinnowError
from winnow.tools.kernel_workload import WORKLOAD

MAX_PROCESSES = 4  # more would mostly compile the same kernels at the same time
REPORT_SECONDS = 0.5


class Progress(NamedTuple):
    compiled: int
    kernels: int
    seconds: float
    cpu: str


def compile_kernels(report: Callable[[Progress], None], processes: int | None = None) -> Progress:
    """Compile what is not compiled yet; `report` is not called where nothing is to be done."""
    start = time.monotonic()
    codegen = _codegen()

    def progress() -> Progress:
        return compiled_kernels()._replace(seconds=time.monotonic() - start)

    receipts = _receipts(codegen)
    if not any(map(_is_valid, receipts)):
        parts = _run_workload(processes or _default_processes(), lambda: report(progress()))
        not_kept = set().union(*(part.not_kept for part in parts))
        if not_kept:
            raise WinnowError(
                "kernels_not_kept",
                f"the machine code of {len(not_kept)} kernels could not be written, one is {min(not_kept)}",
                hint="set NUMBA_CACHE_DIR to a folder that can be written",
            )
        _write_receipt(receipts, set().union(*(part.files for part in parts)))
    return progress()


def compiled_kernels() -> Progress:
    """Counts the kernels whose machine code is kept for this CPU and these sources; compiles nothing."""
    codegen = _codegen()
    compiled = sum(kernel._cache.is_kept(codegen) for kernel in KERNELS)
    return Progress(compiled, len(KERNELS), 0.0, codegen.magic_tuple()[1])


def are_compiled() -> bool:
    """Says whether everything that any run needs is compiled."""
    return any(map(_is_valid, _receipts(_codegen())))


def _receipts(codegen: Any) -> list[Path]:
    return [folder / _receipt_name(codegen) for folder in folders_of(compile_kernels)]


def _codegen() -> Any:
    for engine in ENGINES:
        resolve(engine)  # imports its kernels
    return cpu_target.target_context.codegen()


class Part(NamedTuple):
    """What running a part of the workload has used."""

    files: set[str]
    not_kept: set[str]  # kernels that are in no file


def _run_workload(processes: int, report: Callable[[], None]) -> list[Part]:
    with ProcessPoolExecutor(processes, get_context("spawn"), _be_silent) as pool:
        parts = [pool.submit(_run_part, name) for name in WORKLOAD]
        try:
            while (waiting := wait(parts, REPORT_SECONDS, FIRST_EXCEPTION)).not_done:
                for part in waiting.done:
                    part.result()  # raises what it has raised
                report()
            return [part.result() for part in parts]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_part(name: str) -> Part:
    WORKLOAD[name]()
    files = {str(file) for kernel in KERNELS for file in kernel._cache.files}
    not_kept = {kernel._cache.kernel for kernel in KERNELS if kernel.overloads and not kernel._cache.files}
    return Part(files, not_kept)


def _be_silent() -> None:
    """It is said by the progress that kernels are compiled."""
    logging.getLogger("winnow.arrays").setLevel(logging.ERROR)


def _default_processes() -> int:
    return min(len(os.sched_getaffinity(0)), MAX_PROCESSES)


def _receipt_name(codegen: Any) -> str:
    kernels = sorted(kernel._cache.file_start(codegen) for kernel in KERNELS)
    return f"kernels-{content_hash(sources_digest(_run_part.__module__), kernels)}.json"


def _is_valid(receipt: Path) -> bool:
    try:
        return all(map(os.path.exists, json.loads(receipt.read_bytes())))
    except (OSError, ValueError):
        return False


def _write_receipt(receipts: list[Path], files: set[str]) -> None:
    for receipt in receipts:
        with suppress(OSError):  # read-only
            write_whole(receipt, json.dumps(sorted(files)).encode())
            for other in receipt.parent.glob("kernels-*.json"):
                if other != receipt:
                    other.unlink(missing_ok=True)
            return
