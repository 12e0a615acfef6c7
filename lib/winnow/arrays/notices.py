"""What a process says when it must compile, once: it takes long, and nobody should have to guess why."""

import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_logger = logging.getLogger("winnow.arrays")  # Python prints a warning on stderr also where logging is not configured
_reported: set[str] = set()
_listeners: list[Callable[[str, int, float], None]] = []
_begun: list[float] = []  # when each kernel of this process was begun, in seconds


def on_compilation(listener: Callable[[str, int, float], None]) -> None:
    """Has a function told of every kernel that this process begins to compile: its name, its number, seconds so far."""
    _listeners[:] = [listener]


def report_compilation(kernel: str, cpu: str, reason: str) -> None:
    _logger.info("compiling %s", kernel)
    _begun.append(time.monotonic())
    for listener in _listeners:
        listener(kernel, len(_begun), _begun[-1] - _begun[0])
    _warn_once(
        "compilation",
        f"compiling kernels for this machine (CPU {cpu}; {reason}); takes about a minute once; "
        "`winnow setup-kernels` does it beforehand",
    )


def report_not_kept(folders: Iterable[Path]) -> None:
    places = ", ".join(map(str, folders))
    _warn_once("not kept", f"compiled kernels cannot be kept for the next process: none can be written of {places}")


def _warn_once(subject: str, message: str) -> None:
    if subject not in _reported:
        _reported.add(subject)
        _logger.warning(message)
