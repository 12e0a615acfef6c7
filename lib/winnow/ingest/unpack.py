"""Bytes as they come out of compression, paid from the budget of the file.

All bytes before the end of the budget, and before the end of a stream that is cut off, are given; then it is an error.
"""

import io
import zlib
from collections.abc import Callable
from typing import Any, TypeAlias

from winnow.ingest.expansion import ExpansionBudget

BUFFER = 1 << 18
Read: TypeAlias = Callable[[int], bytes]  # the next bytes, at most so many; none at the end


def metered(read: Read, budget: ExpansionBudget) -> Read:
    """What `read` unpacks, by pieces that the budget has room for."""

    def read_metered(size: int) -> bytes:
        content = read(budget.room(min(size, BUFFER)))
        budget.spend(len(content))
        return content

    return read_metered


def gunzip(read: Read, budget: ExpansionBudget) -> Read:
    """The content of a gzip stream, of one gzip member or of several."""
    return metered(_Gunzip(read).read, budget)


def buffered(read: Read) -> io.BufferedReader:
    """The same bytes, given in the amounts that are asked for."""
    return io.BufferedReader(_Raw(read), BUFFER)


class _Raw(io.RawIOBase):
    def __init__(self, read: Read) -> None:
        self._read = read

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        content = self._read(len(target))
        target[: len(content)] = content
        return len(content)


class _Gunzip:
    """gzip.GzipFile drops its last buffer when the stream is cut off; this one does not."""

    def __init__(self, read: Read) -> None:
        self._packed = read
        self._inflate = zlib.decompressobj(wbits=31)
        self._started = False

    def read(self, size: int) -> bytes:
        while True:
            data = self._inflate.unconsumed_tail or self._inflate.unused_data or self._packed(BUFFER)
            if self._inflate.eof:  # the end of a gzip member: another may follow, also behind zero padding
                while data and not (data := data.lstrip(b"\0")):
                    data = self._packed(BUFFER)
                if data:
                    self._inflate = zlib.decompressobj(wbits=31)
            if not data:
                if self._started and not self._inflate.eof:
                    raise EOFError("the compressed stream ends in the middle")
                return b""
            self._started = True
            if content := self._inflate.decompress(data, size):
                return content
