"""Split a container file into its records without loading it: one record of a large file is one document.

The split works on bytes, so that one malformed record does not hide its neighbours, and each record keeps the bytes it
came with. Only what a record inherits is added: namespace declarations of its ancestors go into its start tag, since
without them the record alone would mean something else.

A record without an end tag would swallow those that follow, for theirs end inside it. When the container ends, or the
record has grown too large, it is given up and the next start tag begins a record of its own; unless records of this
container are known to hold others of their name, or nothing is known and the container itself breaks off.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from winnow.ingest.ancestors import Ancestors
from winnow.ingest.tags import END_OF, Tokens, is_cut, with_declarations


class Record(NamedTuple):
    """`fault` is why there is no whole record: "truncated" (the container ends in it), "endless" (its end tag is
    missing), "oversized" (not kept); and where there is no record at all, "unclosed" (the container breaks off) and
    "unreadable" (a tag that never ends)."""

    ordinal: int  # 1 is the first record of the container
    content: bytes
    line: int  # of the record's first byte in the container
    fault: str = ""
    inherited: int = 0  # bytes of `content` that are declarations of its ancestors


def split_records(chunks: Iterable[bytes], tag: str, *, max_bytes: int) -> Iterator[Record]:
    """Yield the outermost `tag` elements (any prefix) of a UTF-8 stream, in order.

    Memory is bounded by `max_bytes` plus one chunk. A record longer than that is given up at the limit, and the search
    goes on behind it.

    >>> [r.content for r in split_records([b"<s xmlns='u'><r>1</", b"r><r>2</r></s>"], "r", max_bytes=99)]
    [b"<r xmlns='u'>1</r>", b"<r xmlns='u'>2</r>"]
    >>> [(r.content, r.fault) for r in split_records([b"<s><r>1<r>2</r></s>"], "r", max_bytes=99)]
    [(b'<r>1', 'endless'), (b'<r>2</r>', '')]
    """
    return _Splitter(tag, max_bytes).run(chunks)


class _Splitter:
    """Invariant: bytes before `_position` are read, and those before `_begin` not needed any more."""

    def __init__(self, tag: str, max_bytes: int) -> None:
        self._tokens = Tokens(tag)
        self._max_bytes = max_bytes
        self._buffer = b""
        self._offset = 0  # of the buffer in the stream
        self._position = 0
        self._begin = 0  # of the open record, if one is open
        self._line = 1  # at `_begin`
        self._ordinal = 0
        self._ancestors = Ancestors()
        self._until = b""  # the end of the opaque part we are in
        self._depth = 0  # 1 in the open record; more in those of its name that are open in it
        self._open: list[int] = []  # where all these begin in the stream, unless the record is oversized
        self._holds_others = False  # the open record has begun others of its name
        self._oversized = False  # the open record is over the limit: find its end, keep nothing
        self._endless: set[int] = set()  # where records begin that are known to have no end
        self._seen = self._nests = False  # whole records; some that hold others

    def run(self, chunks: Iterable[bytes]) -> Iterator[Record]:
        for chunk in chunks:
            self._buffer += chunk
            yield from self._read()
            yield from self._shrink()
        if self._depth and not self._oversized and self._may_be_siblings(at_end=True):
            yield from self._give_up(self._open)
        if self._depth:
            yield self._record(len(self._buffer), "oversized" if self._oversized else "truncated")
            return
        if self._ancestors:
            yield Record(self._ordinal + 1, b"", self._line, "unclosed")

    def _read(self) -> Iterator[Record]:
        while True:
            if self._until:
                found = self._buffer.find(self._until, self._position)
                if found < 0:
                    self._position = max(self._position, len(self._buffer) - len(self._until) + 1)
                    return
                self._position = found + len(self._until)
                self._until = b""
            token = (self._tokens.inside if self._depth else self._tokens.outside).search(self._buffer, self._position)
            if token is None:
                rest = self._buffer.rfind(b"<", self._position)  # perhaps the beginning of a token
                self._position = rest if rest >= 0 else len(self._buffer)
                return
            kind, self._position = token.lastgroup, token.end()
            if self._position == len(self._buffer) and is_cut(token):
                self._position = token.start()
                return
            if kind == "opaque":
                self._until = END_OF[token[0]]
            elif self._depth:
                if record := self._inside(token.start(), token[0]):
                    yield record
            elif kind == "open" and self._tokens.is_record.match(token[0]):
                self._advance(token.start())
                if self._offset + token.start() in self._endless:
                    yield self._record(self._end_of_endless(), "endless")
                else:
                    self._holds_others = self._oversized = False
                    if record := self._inside(token.start(), token[0]):
                        yield record
            elif kind != "declaration":
                self._follow_ancestor(token[0])

    def _inside(self, start: int, tag: bytes) -> Record | None:
        """A start or end tag of the record's name, of itself or in it: the record, when it ends here."""
        if not tag.startswith(b"</"):
            if self._depth and self._oversized and self._may_be_siblings():
                return self._record(start, "oversized")  # and this tag is read again, as that of a record
            self._holds_others = self._depth > 0
            self._depth += 1
            if not self._oversized:
                self._open.append(self._offset + start)
            if not tag.endswith(b"/>"):
                return None
        self._depth -= 1
        if not self._oversized:
            self._open.pop()
        if self._depth:
            return None
        self._seen = True
        self._nests = self._nests or self._holds_others
        return self._record(self._position, "oversized" if self._oversized else "")

    def _may_be_siblings(self, *, at_end: bool = False) -> bool:
        """Are start tags in the open record those of its neighbours, and is its own end missing?"""
        if self._nests or (at_end and not self._holds_others):
            return False
        return self._seen or (at_end and self._is_complete())

    def _is_complete(self) -> bool:
        """The container ends with the end tag of its root element."""
        root = self._ancestors.root
        last = self._buffer.rstrip()
        return bool(root) and last.endswith(b">") and last[:-1].rstrip().endswith(b"</" + root)

    def _give_up(self, endless: list[int]) -> Iterator[Record]:
        """Read the open record again, now as several."""
        self._endless = set(endless)
        self._depth, self._open, self._until, self._position = 0, [], b"", self._begin
        yield from self._read()
        self._endless = set()

    def _end_of_endless(self) -> int:
        """Where the next record begins or an ancestor ends."""
        opened: dict[bytes, int] = {}
        while token := self._tokens.behind.search(self._buffer, self._position):
            name = token["name"]
            if token["record"] or (token["close"] and name in self._ancestors and not opened.get(name)):
                return token.start()
            self._position = token.end()
            if token["opaque"]:
                found = self._buffer.find(END_OF[token[0]], self._position)
                self._position = found if found >= 0 else len(self._buffer)
            elif token["close"]:
                opened[name] = opened.get(name, 0) - 1
            elif name in self._ancestors and (rest := self._tokens.rest.match(self._buffer, self._position)):
                self._position = rest.end()
                if not rest[0].endswith(b"/>"):
                    opened[name] = opened.get(name, 0) + 1
        return len(self._buffer)

    def _shrink(self) -> Iterator[Record]:
        if self._depth and len(self._buffer) - self._begin > self._max_bytes:
            if not self._oversized and self._holds_others and self._may_be_siblings():
                yield from self._give_up(self._open[:-1] or self._open)
            self._oversized = self._oversized or (self._depth > 0 and len(self._buffer) - self._begin > self._max_bytes)
            if self._oversized:
                self._open = []
        if not self._depth or self._oversized:
            # A tag longer than a record may be is no tag: memory stays bounded whatever the bytes are.
            if len(self._buffer) - self._position > self._max_bytes:
                self._advance(self._position)
                yield Record(self._ordinal + 1, b"", self._line, "unreadable")
                self._position = len(self._buffer)
            self._advance(self._position)
        self._buffer = self._buffer[self._begin :]
        self._offset += self._begin
        self._position -= self._begin
        self._begin = 0

    def _advance(self, begin: int) -> None:
        self._line += self._buffer.count(b"\n", self._begin, begin)
        self._begin = begin

    def _follow_ancestor(self, tag: bytes) -> None:
        if tag.startswith(b"</"):
            self._ancestors.close(tag)
        elif tag.endswith(b">") and not tag.endswith(b"/>"):
            self._ancestors.open(tag)

    def _record(self, end: int, fault: str) -> Record:
        self._ordinal += 1
        content = own = b"" if fault == "oversized" else self._buffer[self._begin : end]
        if self._ancestors.declared:
            content = with_declarations(own, self._ancestors.declared)
        record = Record(self._ordinal, content, self._line, fault, len(content) - len(own))
        self._depth, self._open = 0, []
        self._position = end
        self._advance(end)
        return record
