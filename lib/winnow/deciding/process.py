"""The parent's side of the child process: started on first use, replaced when it is lost, gone when its owner is."""

import os
import signal
import subprocess
import sys
from multiprocessing.connection import Pipe
from typing import Any, NamedTuple

from winnow.deciding.question import Question

_START_SECONDS = 60.0  # of wall clock, on a machine that may be busy
_WALL_FACTOR = 10.0  # a child may wait for a processor; one that gets none at all is given up in the end


class Reply(NamedTuple):
    place: int | None  # of the witness, -1 when it does not hold; None when nobody knows
    seconds: float  # of CPU
    message: str = ""
    deadline: bool = False  # it took too long, rather than failed


class Child:
    """Not for several threads. What it is asked for the first time after a loss starts it anew."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None
        self._content: bytes | None = None  # the document that it holds

    def ask(self, content: bytes, question: Question, seconds: float) -> Reply:
        proved = False
        try:
            if self._process is None:
                self._start()
            if self._content is not content:
                self._content = None
                self._connection.send(content)
                self._content = content
            self._connection.send((question, seconds))
            while self._connection.poll(_START_SECONDS + _WALL_FACTOR * seconds):
                reply = self._connection.recv()
                if reply is not True:
                    place, spent = reply
                    return Reply(place, spent) if isinstance(place, int) else Reply(None, spent, place)
                proved = True
            words, deadline = "no answer from the child process", True
        except (OSError, EOFError) as error:
            words, deadline = f"the child process is lost: {error or type(error).__name__}", False
        status = self.close()
        deadline = deadline or status == -signal.SIGPROF
        if proved:  # it holds; where, nobody will know, and the root element is around it
            return Reply(0, seconds)
        return Reply(None, seconds, words if status != -signal.SIGPROF else "", deadline)

    def close(self) -> int | None:
        """End the process, if there is one, and wait for it; its status."""
        process, self._process, self._content = self._process, None, None
        if self._connection is not None:
            self._connection.close()  # which ends an idle child
            self._connection = None
        if process is None:
            return None
        try:
            return process.wait(0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def _start(self) -> None:
        # A new interpreter, not a fork: this process may have threads, and locks that they hold.
        self._connection, theirs = Pipe()
        arguments = [str(number) for number in (theirs.fileno(), os.getpid(), self._memory)]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "winnow.deciding.child", *arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        finally:
            theirs.close()
        if not self._connection.poll(_START_SECONDS):  # from now on it listens whenever something is sent
            raise TimeoutError("it does not start")
        self._connection.recv()
