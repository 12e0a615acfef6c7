"""Read the members of a tar stream in order.

The standard library's tarfile costs three times as much per small member as libxml2 needs to parse it, and gives up the
members it has already read when the stream breaks off. This reader knows what archives of documents use: ustar, GNU
long names and pax path and size records. Anything else that is not a regular file is passed over.
"""

import tarfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

BLOCK = 512
REGULAR = b"0\0"  # type flags of a regular file
_ENCODING = "utf-8"


class Member(NamedTuple):
    name: str
    size: int
    content: bytes  # at most `keep` bytes of it


def read_members(read: Callable[[int], bytes], *, keep: int) -> Iterator[Member]:
    """Yield every regular file; raises tarfile.ReadError where the archive is damaged or breaks off.

    At most `keep` bytes of a member are held; the rest is read and dropped.
    """
    long_name: str | None = None
    long_size: int | None = None
    while True:
        header = read(BLOCK)
        if not header or header.count(0) == BLOCK:  # the end, marked or not
            return
        if len(header) < BLOCK:
            raise tarfile.ReadError("the archive ends inside a header")
        name, size, kind = _header(header)
        if kind in b"LKxg":  # describes the next member (L, x), or something we do not need (K, g)
            extra = _exactly(read, size)
            _exactly(read, -size % BLOCK)
            if kind == b"L":
                long_name = extra.rstrip(b"\0").decode(_ENCODING, "surrogateescape")
            elif kind == b"x":
                records = _pax(extra)
                long_name = records.get("path", long_name)
                long_size = int(records["size"]) if "size" in records else long_size
            continue
        name, size = long_name or name, size if long_size is None else long_size
        long_name = long_size = None
        content = _exactly(read, min(size, keep))
        rest = size - len(content)
        while rest > 0:
            rest -= len(_exactly(read, min(rest, 1 << 20)))
        _exactly(read, -size % BLOCK)
        if kind in REGULAR:
            yield Member(name.encode("utf-8", "replace").decode(), size, content)


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size) if size else b""
    if len(data) < size:
        raise tarfile.ReadError("the archive ends inside a member")
    return data


def _header(block: bytes) -> tuple[str, int, bytes]:
    if sum(block) - sum(block[148:156]) + 8 * 32 != _number(block[148:156]):
        raise tarfile.ReadError("not a tar header, or a damaged one (wrong checksum)")
    name = block[:100].partition(b"\0")[0]
    if block[257:262] == b"ustar" and block[262:263] == b"\0" and block[345]:
        name = block[345:500].partition(b"\0")[0] + b"/" + name
    return name.decode(_ENCODING, "surrogateescape"), _number(block[124:136]), block[156:157]


def _number(field: bytes) -> int:
    if field[0] & 0x80:  # GNU base 256, for sizes of 8 GiB and more
        return int.from_bytes(field[1:], "big")
    try:
        return int(field.strip(b"\0 ") or b"0", 8)
    except ValueError:
        raise tarfile.ReadError("not a tar header, or a damaged one (bad number)") from None


def _pax(data: bytes) -> dict[str, str]:
    records = {}
    while data:
        length, _, _ = data.partition(b" ")
        if not length.isdigit() or not 0 < int(length) <= len(data):
            raise tarfile.ReadError("a damaged pax record")
        key, _, value = data[len(length) + 1 : int(length) - 1].partition(b"=")
        records[key.decode(_ENCODING, "replace")] = value.decode(_ENCODING, "surrogateescape")
        data = data[int(length) :]
    return records
