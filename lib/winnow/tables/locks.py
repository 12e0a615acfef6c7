"""One writer per table. Local disk gives two Spark processes no mutual exclusion: both may believe they committed.

The lock is flock(2): the kernel frees it when the process dies, however it dies. Lakes on object stores have their own
log stores and take no lock here.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from winnow.errors import TransientError


@contextmanager
def table_lock(lake: str, table: str, *, wait_seconds: float = 600.0) -> Iterator[None]:
    if not lake or ("://" in lake and not lake.startswith("file://")):
        yield
        return
    folder = Path(lake.removeprefix("file://")) / "_locks"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{table}.lock").open("a+") as handle:
        deadline = time.monotonic() + wait_seconds
        while not _try_lock(handle.fileno()):
            if time.monotonic() > deadline:
                handle.seek(0)
                raise TransientError(
                    "table_locked",
                    f"table {table} is being written by process {handle.read().strip() or 'unknown'};"
                    f" gave up after {wait_seconds:.0f} s",
                    hint="wait for that run, then start again: nothing was written",
                )
            time.sleep(0.05)
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
