"""What Spark's processes take while something runs: CPU time of all, memory of the JVM and of the largest worker.

CPU time says what work costs on a machine that does other things, too; seconds do not.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PAUSE = 0.25  # seconds
_PROC = Path("/proc")


class ProcessWatch:
    """Looks at this process and all below it, again and again, until it is closed."""

    def __init__(self) -> None:
        self._peaks: dict[str, float] = {}
        self._cpu = _cpu_seconds()
        self._done = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def take(self) -> dict[str, float]:
        """Returns CPU seconds and peaks in megabytes since the last time."""
        self._look()
        before, self._cpu = self._cpu, _cpu_seconds()
        with self._lock:
            peaks, self._peaks = self._peaks, {}
        peaks = {f"peak {what}": megabytes for what, megabytes in sorted(peaks.items())}
        return {"cpu_seconds": self._cpu - before, **peaks}

    def close(self) -> None:
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(_PAUSE):
            self._look()

    def _look(self) -> None:
        for process in _descendants(os.getpid()):
            with suppress(OSError, StopIteration):  # it has ended meanwhile
                is_jvm = (_PROC / str(process) / "comm").read_text().strip() == "java"
                # Workers share pages with the process they were forked from, and with each other those of an index.
                name, kind = ("jvm_megabytes", "Rss") if is_jvm else ("python_worker_megabytes", "Pss")
                megabytes = _kibibytes(process, kind) * 1024 / 1e6
                with self._lock:
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


def _cpu_seconds() -> float:
    """CPU time of this process and of all below it, with what those that have ended have left to their parents."""
    ticks = 0
    for process in (os.getpid(), *_descendants(os.getpid())):
        with suppress(OSError):
            stat = (_PROC / str(process) / "stat").read_text()
            ticks += sum(map(int, stat.rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _kibibytes(process: int, kind: str) -> int:
    lines = (_PROC / str(process) / "smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
