"""Read the files of a piece into items: bytes with the place they came from, or the reason why there are none.

A bad file, archive member or record becomes an item with a reason; the next one is read all the same.
"""

import codecs
import io
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, Any, NamedTuple, cast

import pyarrow.fs as pafs

from winnow.ingest.accept import Refused, codec_of
from winnow.ingest.reasons import Reason
from winnow.ingest.records import split_records
from winnow.ingest.sources import File, is_archive, is_remote
from winnow.ingest.tar import read_members

CHUNK = 1 << 20
MAX_CONTAINER = 256 << 20
MAX_EXPANSION = 200  # decompressed bytes per archive byte over the whole archive: real XML stays far below
_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, NotImplementedError)


class Place(NamedTuple):
    source: str  # the file
    member: str = ""  # inside an archive
    record: int = 0  # inside a container, from 1
    line: int = 1  # of the first byte, in the container


class Item(NamedTuple):
    place: Place
    content: bytes
    refused: Refused | None = None


class _How(NamedTuple):
    record_tag: str | None
    max_bytes: int
    chunk: int


def read_file(file: File, *, record_tag: str | None, max_bytes: int, chunk: int = CHUNK) -> Iterator[Item]:
    """All items of one file, archive or container; the latter is read in chunks."""
    place, how = Place(_printable(file.path)), _How(record_tag, max_bytes, chunk)
    if file.problem:
        reason = Reason.OUTSIDE_ROOT if file.problem == Reason.OUTSIDE_ROOT else Reason.UNREADABLE
        words = "a link that leads out of the given directory" if reason == Reason.OUTSIDE_ROOT else file.problem
        yield Item(place, b"", Refused(reason, words))
        return
    try:
        with _open(file.path) as stream:
            if file.path.lower().endswith(".zip"):
                yield from _zip(stream, place, how)
            elif is_archive(file.path):
                yield from _tar(stream, file, how)
            else:
                yield from _entry(stream, place, how)
    except (*_BROKEN, UnicodeError) as error:
        broken = is_archive(file.path) or file.path.lower().endswith(".gz")
        yield Item(place, b"", _broken(error, Reason.CORRUPT_ARCHIVE if broken else Reason.UNREADABLE))


class _Gunzip(io.RawIOBase):
    """A gzip stream that hands out all bytes before a break; gzip.GzipFile drops its last buffer when it fails."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._inflate = zlib.decompressobj(wbits=31)
        self._started = False

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while True:
            data = self._inflate.unconsumed_tail or self._inflate.unused_data or self._stream.read(CHUNK // 4)
            if self._inflate.eof:  # the end of a gzip member: another may follow, also behind zero padding
                while data and not (data := data.lstrip(b"\0")):
                    data = self._stream.read(CHUNK // 4)
                if data:
                    self._inflate = zlib.decompressobj(wbits=31)
            if not data:
                if self._started and not self._inflate.eof:
                    raise EOFError("the compressed stream ends in the middle")
                return 0
            self._started = True
            content = self._inflate.decompress(data, len(target))
            if content:
                target[: len(content)] = content
                return len(content)


def _gunzip(stream: IO[bytes]) -> IO[bytes]:
    return cast(IO[bytes], io.BufferedReader(_Gunzip(stream), CHUNK // 4))


def _printable(path: str) -> str:
    """File names are bytes, tables hold text.

    >>> print(_printable("caf\\udce9.xml"))
    caf\\xe9.xml
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _open(path: str) -> IO[bytes]:
    if not is_remote(path):
        return open(path, "rb")
    filesystem, name = pafs.FileSystem.from_uri(path)
    return cast(IO[bytes], filesystem.open_input_file(name))


def _broken(error: BaseException, reason: Reason) -> Refused:
    return Refused(reason, getattr(error, "strerror", None) or str(error) or type(error).__name__)


def _tar(stream: IO[bytes], file: File, how: _How) -> Iterator[Item]:
    source = _gunzip(stream) if file.path.lower().endswith("gz") else stream
    budget = max(file.size * MAX_EXPANSION, 64 * CHUNK)
    # A container inside an archive is held whole, up to the size of what one task may hold.
    keep = MAX_CONTAINER if how.record_tag else how.max_bytes + 1
    for member in read_members(source.read, keep=keep):
        place = Place(_printable(file.path), member.name)
        budget -= member.size
        if budget < 0:
            words = f"expands to more than {MAX_EXPANSION} times its size; reading stopped here"
            yield Item(place, b"", Refused(Reason.OVERSIZED, words))
            return
        if member.problem:
            yield Item(place, b"", Refused(Reason.UNREADABLE, member.problem))
        elif len(member.content) < member.size and how.record_tag:
            yield Item(place, b"", Refused(Reason.OVERSIZED, f"a container of more than {keep} bytes in an archive"))
        else:
            yield from _entry(member.content, place, how)


def _zip(stream: IO[bytes], place: Place, how: _How) -> Iterator[Item]:
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            member = place._replace(member=info.filename)
            if info.flag_bits & 1:
                yield Item(member, b"", Refused(Reason.UNREADABLE, "encrypted"))
                continue
            try:
                with archive.open(info) as content:
                    yield from _entry(content, member, how)
            except (*_BROKEN, UnicodeError) as error:  # names, too, may be damaged
                yield Item(member, b"", _broken(error, Reason.CORRUPT_ARCHIVE))


def _entry(stream: IO[bytes] | bytes, place: Place, how: _How) -> Iterator[Item]:
    """One file or archive member: a document, a container of records, or a refused archive in an archive."""
    name = (place.member or place.source).lower()
    zipped = name.endswith(".gz")
    if isinstance(stream, bytes) and not zipped and not how.record_tag and not is_archive(name):  # mostly
        content = stream
    elif place.member and is_archive(name):
        yield Item(place, b"", Refused(Reason.NESTED_ARCHIVE, "an archive in an archive; unpack the outer one first"))
        return
    else:
        opened = io.BytesIO(stream) if isinstance(stream, bytes) else stream
        opened = _gunzip(opened) if zipped else opened
        try:
            if how.record_tag:
                yield from _container(opened, place, how, how.record_tag)
                return
            content = opened.read(how.max_bytes + 1)
        except UnicodeError as error:
            yield Item(place, b"", Refused(Reason.INVALID_ENCODING, str(error)))
            return
        except _BROKEN as error:
            packed = zipped or place.member
            yield Item(place, b"", _broken(error, Reason.CORRUPT_ARCHIVE if packed else Reason.UNREADABLE))
            return
    if len(content) > how.max_bytes:
        yield Item(place, b"", Refused(Reason.OVERSIZED, f"more than {how.max_bytes} bytes"))
    else:
        yield Item(place, content)


def _container(stream: IO[bytes], place: Place, how: _How, record_tag: str) -> Iterator[Item]:
    found = False
    chunks = _utf8(iter(lambda: stream.read(how.chunk), b""))
    for record in split_records(chunks, record_tag, max_bytes=how.max_bytes):
        found = True
        where = place._replace(record=record.ordinal, line=record.line)
        if record.fault == "oversized":
            yield Item(where, b"", Refused(Reason.OVERSIZED, f"a record of more than {how.max_bytes} bytes"))
        elif record.fault == "unclosed":
            words = "the container ends before its root element does: it is cut off, and records may be missing"
            yield Item(place._replace(line=record.line), b"", Refused(Reason.TRUNCATED_RECORD, words, 1))
        elif record.fault == "unreadable":
            words = f"a tag or declaration that does not end within {how.max_bytes} bytes: they were passed over"
            yield Item(place._replace(line=record.line), b"", Refused(Reason.MALFORMED, words, 1))
        elif record.fault:
            ends = "the container ends inside this" if record.fault == "truncated" else "no end tag for this"
            words = f"{ends} <{record_tag}>"
            yield Item(where, record.content, Refused(Reason.TRUNCATED_RECORD, words))
        else:
            yield Item(where, record.content)
    if not found:
        yield Item(place, b"", Refused(Reason.NO_RECORDS, f"no <{record_tag}> in it; is --record-tag right?"))


def _utf8(chunks: Iterator[bytes]) -> Iterable[bytes]:
    """The stream in UTF-8, whatever encoding its first bytes announce."""
    first = next(chunks, b"")
    codec = codec_of(first)
    if codec is None:
        raise UnicodeError("the container's encoding is not UTF-8, UTF-16 or Latin-1")
    if codec == "utf-8":
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(codec)()
    yield decoder.decode(first).encode()
    for chunk in chunks:
        yield decoder.decode(chunk).encode()
    decoder.decode(b"", final=True)
