"""Read the files of a piece into items: bytes with the place they came from, or the reason why there are none.

A bad file, archive member or record becomes an item with a reason; the next one is read all the same.
"""

import codecs
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from winnow.ingest.accept import Refused, codec_of
from winnow.ingest.expansion import DEFAULT_EXPANSION, ExpansionBudget, ExpansionError, ExpansionLimits
from winnow.ingest.names import printable
from winnow.ingest.opening import open_file
from winnow.ingest.reasons import Reason
from winnow.ingest.records import split_records
from winnow.ingest.sources import File, is_archive
from winnow.ingest.tar import read_members
from winnow.ingest.unpack import BUFFER, Read, buffered, gunzip, metered
from winnow.ingest.zip import read_zip_members

CHUNK = 1 << 20
MAX_CONTAINER = 256 << 20
_BROKEN = (EOFError, OSError, zlib.error, tarfile.TarError, zipfile.BadZipFile, NotImplementedError)


class Place(NamedTuple):
    source: str  # the file
    member: str = ""  # inside an archive
    record: int = 0  # inside a container, from 1
    line: int = 1  # of the first byte, in the container

    @property
    def name(self) -> str:
        """
        >>> Place("a.zip", "b.xml", 3).name
        'a.zip!b.xml#3'
        """
        return self.source + (f"!{self.member}" if self.member else "") + (f"#{self.record}" if self.record else "")


class Item(NamedTuple):
    place: Place
    content: bytes
    refused: Refused | None = None


class _How(NamedTuple):
    record_tag: str | None
    max_bytes: int
    chunk: int
    budget: ExpansionBudget


def read_file(
    file: File,
    *,
    record_tag: str | None,
    max_bytes: int,
    chunk: int = CHUNK,
    expansion: ExpansionLimits = DEFAULT_EXPANSION,
    opener: Callable[[File], tuple[io.BufferedReader, int]] = open_file,
) -> Iterator[Item]:
    """All items of one file, archive or container; the latter is read in chunks. `opener` gives stream and size."""
    place = Place(printable(file.path))
    if file.problem:
        reason = Reason.OUTSIDE_ROOT if file.problem == Reason.OUTSIDE_ROOT else Reason.UNREADABLE
        words = "a link that leads out of the given directory" if reason == Reason.OUTSIDE_ROOT else file.problem
        yield Item(place, b"", Refused(reason, words))
        return
    try:
        stream, size = opener(file)
    except OSError as error:
        yield Item(place, b"", _broken(error, Reason.UNREADABLE))
        return
    how = _How(record_tag, max_bytes, chunk, ExpansionBudget(size, expansion))
    name = file.path.lower()
    try:
        with stream:
            if name.endswith(".zip"):
                yield from _zip(stream, place, how)
            elif is_archive(name):
                packed = name.endswith("gz")
                yield from _tar(buffered(gunzip(stream.read1, how.budget)) if packed else stream, place, how)
            else:
                yield from _entry(stream.read1, place, how)
    except ExpansionError as error:
        yield Item(place._replace(member=how.budget.member), b"", _broken(error, Reason.ARCHIVE_BOMB))
    except (*_BROKEN, UnicodeError) as error:
        broken = is_archive(name) or name.endswith(".gz")
        yield Item(place, b"", _broken(error, Reason.CORRUPT_ARCHIVE if broken else Reason.UNREADABLE))


def _broken(error: BaseException, reason: Reason) -> Refused:
    return Refused(reason, getattr(error, "strerror", None) or str(error) or type(error).__name__)


def _tar(stream: io.BufferedReader, place: Place, how: _How) -> Iterator[Item]:
    # A container inside an archive is held whole, up to the size of what one task may hold.
    keep = MAX_CONTAINER if how.record_tag else how.max_bytes + 1
    for member in read_members(stream.read, keep=keep, begin=how.budget.begin_member):
        where = Place(place.source, member.name)
        if member.problem:
            yield Item(where, b"", Refused(Reason.UNREADABLE, member.problem))
        elif len(member.content) < member.size and how.record_tag:
            yield Item(where, b"", Refused(Reason.OVERSIZED, f"a container of more than {keep} bytes in an archive"))
        else:
            yield from _entry(member.content, where, how)


def _zip(stream: io.BufferedReader, place: Place, how: _How) -> Iterator[Item]:
    for member in read_zip_members(stream, how.budget):
        where = Place(place.source, member.name)
        if member.refused:
            yield Item(where, b"", member.refused)
            continue
        try:
            with member.open() as content:
                yield from _entry(metered(content.read1, how.budget), where, how)
        except (*_BROKEN, UnicodeError) as error:  # names, too, may be damaged
            yield Item(where, b"", _broken(error, Reason.CORRUPT_ARCHIVE))


def _entry(source: Read | bytes, place: Place, how: _How) -> Iterator[Item]:
    """One file or archive member: a document, a container of records, or a refused archive in an archive."""
    name = (place.member or place.source).lower()
    zipped = name.endswith(".gz")
    if isinstance(source, bytes) and not zipped and not how.record_tag and not is_archive(name):  # mostly
        content = source
    elif place.member and is_archive(name):
        yield Item(place, b"", Refused(Reason.NESTED_ARCHIVE, "an archive in an archive; unpack the outer one first"))
        return
    else:
        read = io.BytesIO(source).read1 if isinstance(source, bytes) else source
        read = gunzip(read, how.budget) if zipped else read
        try:
            if how.record_tag:
                yield from _container(read, place, how, how.record_tag)
                return
            content = _read(read, how.max_bytes + 1)
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


def _read(read: Read, size: int) -> bytes:
    """By pieces: to read all at once reserves `size` bytes first, which takes longer than to read a small file."""
    pieces = []
    while size > 0 and (piece := read(min(size, BUFFER))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _container(read: Read, place: Place, how: _How, record_tag: str) -> Iterator[Item]:
    found = False
    chunks = _utf8(iter(lambda: read(how.chunk), b""))
    for record in split_records(chunks, record_tag, max_bytes=how.max_bytes):
        found = True
        how.budget.count_member()
        how.budget.spend(record.inherited)
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
