"""Progress of distributed work: workers tell the driver how much they have done, while they do it.

Each note is one datagram to the driver's address, so nobody ever waits for a listener; a lost note only delays the
picture, never the work. Results and counts come back through Spark, not through here.
"""

import secrets
import socket
import struct
import sys
import threading
from types import TracebackType
from typing import NamedTuple

from tqdm import tqdm

LOG_SECONDS = 15.0  # between lines where the output is a log, not a terminal
_NOTE = struct.Struct("!16sQ")


class Channel(NamedTuple):
    """Where to send notes; the token keeps strangers' datagrams out."""

    host: str
    port: int
    token: bytes

    def tell(self, count: int) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(_NOTE.pack(self.token, count), (self.host, self.port))


class Progress:
    """Shows counts and rate while a block runs; quiet when it is over in two seconds."""

    def __init__(self, what: str, *, host: str, unit: str = "documents") -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self._socket.settimeout(0.5)
        self.channel = Channel(host, self._socket.getsockname()[1], secrets.token_bytes(16))
        interval = 0.5 if sys.stderr.isatty() else LOG_SECONDS
        self._bar = tqdm(desc=what, unit=f" {unit}", unit_scale=True, delay=2.0, mininterval=interval)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Channel:
        self._thread.start()
        return self.channel

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self.channel.tell(0)  # wakes the listener
        self._thread.join()
        self._bar.close()
        self._socket.close()

    def _listen(self) -> None:
        while not self._done.is_set():
            try:
                note = self._socket.recv(64)
            except TimeoutError:
                continue
            if len(note) == _NOTE.size:
                token, count = _NOTE.unpack(note)
                if secrets.compare_digest(token, self.channel.token):
                    self._bar.update(count)
