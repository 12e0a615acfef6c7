"""The memory of Spark's processes while something runs: of the JVM, and of the largest Python worker."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PAUSE = 0.25  # seconds
_PROC = Path("/proc")


class PeakMemory:
    """Looks at all processes below this one, again and again, until it is closed."""

    def __init__(self) -> None:
        self._peaks: dict[str, float] = {}
        self._done = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    def take(self) -> dict[str, float]:
        """Returns the peaks since the last time, in megabytes."""
        self._look()
        with self._lock:
            peaks, self._peaks = self._peaks, {}
        return {f"peak {what}": megabytes for what, megabytes in sorted(peaks.items())}

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


def _kibibytes(process: int, kind: str) -> int:
    lines = (_PROC / str(process) / "smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))
