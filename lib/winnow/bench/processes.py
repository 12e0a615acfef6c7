"""What Spark's processes take while something runs: CPU time of all, memory of the JVM and of the largest worker.

CPU time says what work costs on a machine that does other things, too; seconds do not.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PAUSE = 1.0  # seconds; looking costs a few milliseconds
_PROC = Path("/proc")


class ProcessWatch:
    """Looks at this process and all below it, again and again, until it is closed."""

    def __init__(self) -> None:
        self._peaks: dict[str, float] = {}
        self._ticks: dict[int, int] = {}  # of each process, also of those that have ended since they were seen
        self._lock = threading.Lock()
        self._look()
        self._before = sum(self._ticks.values())
        self._done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def take(self) -> dict[str, float]:
        """Returns CPU seconds and peaks in megabytes since the last time."""
        self._look()
        with self._lock:
            before, self._before = self._before, sum(self._ticks.values())
            peaks, self._peaks = self._peaks, {}
            seconds = (self._before - before) / os.sysconf("SC_CLK_TCK")
        return {"cpu_seconds": seconds} | {f"peak {what}": megabytes for what, megabytes in sorted(peaks.items())}

    def close(self) -> None:
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(_PAUSE):
            self._look()

    def _look(self) -> None:
        with self._lock:
            self._ticks[os.getpid()] = _ticks(os.getpid())
            for process in _descendants(os.getpid()):
                with suppress(OSError, StopIteration):  # it has ended meanwhile
                    self._ticks[process] = _ticks(process)
                    is_jvm = (_PROC / str(process) / "comm").read_text().strip() == "java"
                    # Workers share pages with the process they were forked from, and with each other those of an index.
                    file, line = ("status", "VmRSS") if is_jvm else ("smaps_rollup", "Pss")
                    name = "jvm_megabytes" if is_jvm else "python_worker_megabytes"
                    megabytes = _kibibytes(process, file, line) * 1024 / 1e6
                    self._peaks[name] = max(self._peaks.get(name, 0.0), megabytes)


def _descendants(ancestor: int) -> Iterator[int]:
    parents = {}
    for stat in _PROC.glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    known = {ancestor}
    while found := {process for process, parent in parents.items() if parent in known} - known:
        yield from found
        known |= found


def _ticks(process: int) -> int:
    stat = (_PROC / str(process) / "stat").read_text()
    return sum(map(int, stat.rpartition(")")[2].split()[11:13]))


def _kibibytes(process: int, file: str, wanted: str) -> int:
    lines = (_PROC / str(process) / file).read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{wanted}:"))
