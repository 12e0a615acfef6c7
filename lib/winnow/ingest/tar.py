"""Read the members of a tar stream in order.

The standard library's tarfile costs three times as much per small member as libxml2 needs to parse it, and gives up the
members it has already read when the stream breaks off. This reader knows what archives of documents use: ustar, GNU
long names and pax path and size records. Directories are passed over; every other member is given, and one that is not
a regular file with its problem.
"""

import tarfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

BLOCK = 512
# Type flags, by what follows them in the archive.
_REGULAR = b"0\x007"  # 7 is a file that was laid out contiguously
_DESCRIPTIONS = b"LKxg"  # of the next member (L, x), or of what we do not need (K, g)
_NO_CONTENT = b"123456"  # links, devices, directories and pipes, whatever size their header states
_DIRECTORY, _SPARSE = b"5", b"S"
_PROBLEMS = {
    b"1": "a hard link; what it leads to is read where it stands",
    b"2": "a symbolic link, not a regular file",
    b"3": "a device, not a regular file",
    b"4": "a device, not a regular file",
    b"6": "a pipe, not a regular file",
    _SPARSE: "a sparse file; make the archive without --sparse",
}
MAX_DESCRIPTION = 1 << 20  # bytes of a long name or of pax records: archives are hostile
_MAX_DIGITS = 20  # of a number in a pax record
_ENCODING = "utf-8"


class Member(NamedTuple):
    name: str
    size: int
    content: bytes  # at most `keep` bytes of it
    problem: str = ""  # why it is no file that can be read


def read_members(read: Callable[[int], bytes], *, keep: int, begin: Callable[[str], str]) -> Iterator[Member]:
    """Yield every member but directories; raises tarfile.ReadError where the archive is damaged or breaks off.

    At most `keep` bytes of a member are held; the rest is read and dropped. `begin` is called with the name of each
    member before it is read, and returns the name to give.
    """
    long_name: str | None = None
    long_size: int | None = None
    while True:
        header = read(BLOCK)
        if header.count(0) == BLOCK:
            break
        if len(header) < BLOCK:
            raise tarfile.ReadError(
                "the archive ends inside a header" if header else "the archive ends without its end mark"
            )
        name, size, kind = _header(header)
        if kind in _DESCRIPTIONS:
            if size > MAX_DESCRIPTION:
                raise tarfile.ReadError("a long name or pax record without end")
            extra = _exactly(read, size)
            _exactly(read, -size % BLOCK)
            if kind == b"L":
                long_name = extra.rstrip(b"\0").decode(_ENCODING, "surrogateescape")
            elif kind == b"x":
                records = _pax(extra)
                if b"path" in records:
                    long_name = records[b"path"].decode(_ENCODING, "surrogateescape")
                if b"size" in records:
                    long_size = _decimal(records[b"size"])
            continue
        name, size = long_name or name, size if long_size is None else long_size
        long_name = long_size = None
        name = begin(name)
        if kind in _NO_CONTENT:
            size = 0
        elif kind == _SPARSE:
            _skip_sparse_map(read, header)
        content = _exactly(read, min(size, keep))
        rest = size - len(content)
        while rest > 0:
            rest -= len(_exactly(read, min(rest, 1 << 20)))
        if kind in _REGULAR:
            if size or kind != b"\0" or not name.endswith("/"):  # how tar wrote a directory before it had type flags
                yield Member(name, size, content)
        elif kind != _DIRECTORY:
            unknown = f"of the unknown type {ascii(kind)[1:]}; pack it as a regular file"
            yield Member(name, size, content, _PROBLEMS.get(kind, unknown))
        _exactly(read, -size % BLOCK)
    while behind := read(1 << 20):
        if behind.count(0) < len(behind):
            raise tarfile.ReadError("something follows the end mark, as when archives are joined; it was not read")


def _skip_sparse_map(read: Callable[[int], bytes], header: bytes) -> None:
    """The map of a sparse file goes on in blocks of its own when it is long."""
    more = header[482]
    while more:
        more = _exactly(read, BLOCK)[504]


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


def _pax(data: bytes) -> dict[bytes, bytes]:
    records = {}
    begin = 0
    while begin < len(data):
        digits = data[begin : begin + _MAX_DIGITS + 1].partition(b" ")[0]
        end = begin + _decimal(digits)
        if not begin < end <= len(data):
            raise tarfile.ReadError("a damaged pax record")
        key, _, value = data[begin + len(digits) + 1 : end - 1].partition(b"=")
        records[key] = value
        begin = end
    return records
