"""The child process: `python -m winnow.deciding.child FD PARENT MEMORY`. It answers one question after the other.

It may be lost at any time. The kernel ends it when a question has used up its CPU time (`ITIMER_PROF`, whose signal it
does not catch, as libxml2 would not listen) and when its parent is gone; without the parent its pipe ends, too.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from multiprocessing.connection import Connection
from typing import Any

from lxml import etree

from winnow.deciding.question import Document, Prepared, Question

_PR_SET_PDEATHSIG = 1


def main(descriptor: int, parent: int, memory: int) -> None:
    _die_with(parent)
    _limit_memory(memory)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGPROF})
    connection: Connection[Any, Any] = Connection(descriptor)
    connection.send("ready")
    document = Document(b"")
    prepared: dict[Question, Prepared] = {}
    while True:
        try:
            request = connection.recv()
        except EOFError:
            return
        if isinstance(request, bytes):
            document = Document(request)
            document.root  # noqa: B018  # parsing is bounded: it does not count
            continue
        question, seconds = request
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        try:
            if question not in prepared:
                prepared[question] = Prepared(question)
            # If only the search for the witness is lost, this much is known.
            reply: int | str = document.answer(prepared[question], proved=lambda: connection.send(True))
        except (etree.XPathError, MemoryError) as error:
            reply = str(error) or type(error).__name__
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.send((reply, time.process_time() - began))


def _die_with(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we said so
        os._exit(1)


def _limit_memory(wanted: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    with contextlib.suppress(ValueError, OSError):  # where the system does not know this limit
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
