"""Read the members of a tar stream in order.

The standard library's tarfile costs three times as much per small member as libxml2 needs to parse it, and gives up the
members it has already read when the stream breaks off. This reader knows what archives of documents use: ustar, GNU
long names and pax path and size records. Directories are passed over; what else is not a regular file has a problem.
"""

import tarfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

BLOCK = 512
REGULAR = b"0\x007"  # type flags of a regular file; 7 is one that was laid out contiguously
# Members that hold no content of their own, and type flags that describe the archive, not a member.
_PROBLEMS = {
    b"1": "a hard link; what it leads to is read where it stands",
    b"2": "a symbolic link, not a regular file",
    b"3": "not a regular file",
    b"4": "not a regular file",
    b"6": "not a regular file",
    b"S": "a sparse file; make the archive without --sparse",
}
MAX_DESCRIPTION = 1 << 20  # bytes of a long name or of pax records: archives are hostile
_MAX_DIGITS = 20  # of a number in a pax record
_ENCODING = "utf-8"


class Member(NamedTuple):
    name: str
    size: int
    content: bytes  # at most `keep` bytes of it
    problem: str = ""  # why it is no file that can be read


def read_members(read: Callable[[int], bytes], *, keep: int) -> Iterator[Member]:
    """Yield every member but directories; raises tarfile.ReadError where the archive is damaged or breaks off.

    At most `keep` bytes of a member are held; the rest is read and dropped.
    """
    long_name: str | None = None
    long_size: int | None = None
    while True:
        header = read(BLOCK)
        if header.count(0) == BLOCK:
            return
        if len(header) < BLOCK:
            raise tarfile.ReadError(
                "the archive ends inside a header" if header else "the archive ends without its end mark"
            )
        name, size, kind = _header(header)
        if kind in b"LKxg":  # describes the next member (L, x), or something we do not need (K, g)
            if size > MAX_DESCRIPTION:
                raise tarfile.ReadError("a long name or pax record without end")
            extra = _exactly(read, size)
            _exactly(read, -size % BLOCK)
            if kind == b"L":
                long_name = extra.rstrip(b"\0").decode(_ENCODING, "surrogateescape")
            elif kind == b"x":
                records = _pax(extra)
                long_name = records.get("path", long_name)
                long_size = _decimal(records["size"].encode("utf-8", "replace")) if "size" in records else long_size
            continue
        name, size = long_name or name, size if long_size is None else long_size
        long_name = long_size = None
        content = _exactly(read, min(size, keep))
        rest = size - len(content)
        while rest > 0:
            rest -= len(_exactly(read, min(rest, 1 << 20)))
        _exactly(read, -size % BLOCK)
        if kind in REGULAR or kind in _PROBLEMS:
            yield Member(_printable(name), size, content, _PROBLEMS.get(kind, ""))


def _printable(name: str) -> str:
    """Names are bytes, tables hold text: two that differ still do.

    >>> print(_printable("caf\\udce9.xml"))
    caf\\xe9.xml
    """
    return name.encode(_ENCODING, "surrogateescape").decode(_ENCODING, "backslashreplace")


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
    digits = field.strip(b"\0 ") or b"0"
    if digits.strip(b"01234567"):
        raise tarfile.ReadError("not a tar header, or a damaged one (bad number)")
    return int(digits, 8)


def _decimal(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > _MAX_DIGITS:
        raise tarfile.ReadError("a damaged pax record")
    return int(digits)


def _pax(data: bytes) -> dict[str, str]:
    records = {}
    while data:
        digits = data.partition(b" ")[0]
        length = _decimal(digits)
        if not 0 < length <= len(data):
            raise tarfile.ReadError("a damaged pax record")
        key, _, value = data[len(digits) + 1 : length - 1].partition(b"=")
        records[key.decode(_ENCODING, "replace")] = value.decode(_ENCODING, "surrogateescape")
        data = data[length:]
    return records
