"""Named points where a test may kill the process, to prove that a rerun gives the same tables."""

import os
import signal


def point(name: str) -> None:
    """Dies as by `kill -9` when WINNOW_FAULT names this point.

    >>> point("documents written")
    """
    if os.environ.get("WINNOW_FAULT") == name:
        os.kill(os.getpid(), signal.SIGKILL)
