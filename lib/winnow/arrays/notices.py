"""What a process says when it must compile, once: it takes long, and nobody should have to guess why."""

import logging
from collections.abc import Iterable
from pathlib import Path

_logger = logging.getLogger("winnow.arrays")  # Python prints a warning on stderr also where logging is not configured
_reported: set[str] = set()


def report_compilation(kernel: str, cpu: str, reason: str) -> None:
    _logger.info("compiling %s", kernel)
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
