"""Read the members of a ZIP in the order of its directory, which may be huge or let members share their bytes."""

import io
import sys
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, cast

from winnow.ingest.accept import Refused
from winnow.ingest.expansion import ExpansionBudget, ExpansionError
from winnow.ingest.reasons import Reason
from winnow.ingest.unpack import BUFFER

_ENCRYPTED = 0x41  # flag bits: by password, or strongly
# What zipfile unpacks in small pieces; of bzip2 and LZMA it unpacks at once whatever comes out of one read.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LOCAL_HEADER = 30  # bytes before the name and the content of a member


class Member(NamedTuple):
    name: str
    refused: Refused | None
    open: Callable[[], io.BufferedIOBase]


def read_zip_members(stream: io.BufferedReader, budget: ExpansionBudget) -> Iterator[Member]:
    """Yield every member but directories, those of the same name too; raises what zipfile raises for a damaged one."""
    with zipfile.ZipFile(_BoundedReads(stream, budget.limits.zip_directory)) as archive:
        members = archive.infolist()
        overlapping = overlapping_members(members)
        for number, info in enumerate(members):
            name = budget.begin_member(info.orig_filename)
            if name.endswith("/") and not info.file_size:  # a directory
                continue
            refused = _refusal(info, overlaps=number in overlapping)
            yield Member(name, refused, partial(cast(Any, archive.open), info))


def _refusal(info: zipfile.ZipInfo, *, overlaps: bool) -> Refused | None:
    if overlaps:
        return Refused(Reason.ARCHIVE_BOMB, "another member begins inside its bytes; pack the archive again")
    if not 0 <= info.header_offset <= sys.maxsize:
        return Refused(Reason.CORRUPT_ARCHIVE, "lies outside of the archive, says its directory")
    if info.flag_bits & _ENCRYPTED:
        return Refused(Reason.UNREADABLE, "encrypted; pack it without a password")
    if info.compress_type not in _METHODS:
        return Refused(Reason.UNREADABLE, f"compression method {info.compress_type} is not read; pack it with deflate")
    return None


def overlapping_members(members: list[zipfile.ZipInfo]) -> set[int]:
    """The numbers of the members in whose bytes, as the directory states them, another one begins.

    No two of the others share a byte. The one that begins there is not to blame: the stated size may be damaged.
    """
    found = set()
    order = sorted(range(len(members)), key=lambda number: members[number].header_offset)
    for number, following in pairwise(order):
        begin, next_begin = members[number].header_offset, members[following].header_offset
        if next_begin < begin + _LOCAL_HEADER + members[number].compress_size:
            found.add(number)
        if next_begin == begin:
            found.add(following)
    return found


class _BoundedReads:
    """zipfile reads the directory in one piece and makes objects of it: one that is too large is not read at all."""

    def __init__(self, stream: io.BufferedReader, zip_directory: int) -> None:
        self._stream = stream
        self._most = max(zip_directory, BUFFER)  # a member is read by pieces of a buffer
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self._most:
            raise ExpansionError(
                f"a directory of {size} bytes, the limit is {self._most}: nothing was read; "
                "split the archive, or make it a .tar.gz"
            )
        return self._stream.read(size)
