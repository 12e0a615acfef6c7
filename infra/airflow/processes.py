"""Processes that belong together: each carries a mark in its environment, and so does every process that it starts."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

MARK = "WINNOW_SUPERVISOR"
TERM_SECONDS, KILL_SECONDS = 12.0, 20.0


def marked(mark: str) -> set[int]:
    """Returns the living processes that carry the mark."""
    wanted = f"{MARK}={mark}".encode()
    return {pid for pid, environment in _environments() if wanted in environment}


def send(pids: set[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def stop_all(mark: str, *, first: set[int], last: set[int]) -> list[int]:
    """Stops every marked process: politely, then not. Returns what had to be killed.

    `first` are told before the others, and what belongs to the sessions of `last` after them: tasks report to these.
    """
    own = {os.getpid()}  # a keeper that ends what it keeps is itself marked
    send((marked(mark) & first) - own, signal.SIGTERM)
    _wait_for_none(mark, TERM_SECONDS / 2, but=last, own=own)
    send(marked(mark) - own, signal.SIGTERM)
    _wait_for_none(mark, TERM_SECONDS / 2, but=set(), own=own)
    stubborn = sorted(marked(mark) - own)
    end = time.monotonic() + KILL_SECONDS
    while (left := marked(mark) - own) and time.monotonic() < end:
        send(left, signal.SIGKILL)
        time.sleep(0.1)
    return stubborn


def _wait_for_none(mark: str, seconds: float, *, but: set[int], own: set[int]) -> None:
    """Waits for the end of all that carry the mark, but not for some components and what these have started."""
    end = time.monotonic() + seconds
    while any(_session(pid) not in but for pid in marked(mark) - own) and time.monotonic() < end:
        time.sleep(0.2)


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def _environments() -> Iterator[tuple[int, bytes]]:
    if not Path("/proc/self/environ").exists():  # not Linux: `ps` shows the environment behind the command
        shown = subprocess.run(["ps", "-Eww", "-ax", "-o", "pid=,command="], capture_output=True, check=False).stdout
        for line in shown.splitlines():
            pid, _, rest = line.strip().partition(b" ")
            yield int(pid), rest
        return
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                yield int(folder.name), (folder / "environ").read_bytes()
            except OSError:  # gone meanwhile, or not ours
                continue
