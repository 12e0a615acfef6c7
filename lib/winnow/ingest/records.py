"""Split a container file into its records without loading it: one record of a large file is one document.

The split works on bytes, so that one malformed record does not hide its neighbours, and each record keeps the bytes it
came with. Only what a record inherits is added: namespace declarations of its ancestors go into its start tag, since
without them the record alone would mean something else.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Record(NamedTuple):
    ordinal: int  # 1 is the first record of the container
    content: bytes
    line: int  # of the record's first byte in the container
    fault: str = (
        ""  # "truncated" or "oversized": the content is not whole. "unclosed": no record, the container breaks off
    )


# Every attribute is read, so that a value that quotes a declaration is not taken for one.
_ATTRIBUTE = re.compile(rb"""([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*')""")
_NAME = re.compile(rb"[^\s/>]+")
_REST = rb"""(?:[^<>"']|"[^"]*"|'[^']*')*>"""  # of a start tag: quoted values may hold '>'
_START_TAG = re.compile(rb"<[^!?/<>\s]" + _REST)


def split_records(chunks: Iterable[bytes], tag: str, *, max_bytes: int) -> Iterator[Record]:
    """Yield the outermost `tag` elements (any prefix) of a UTF-8 stream, in order.

    Memory is bounded by `max_bytes` plus one chunk. A record longer than that is given up at the limit, and the search
    goes on behind it.

    >>> [r.content for r in split_records([b"<s xmlns='u'><r>1</", b"r><r>2</r></s>"], "r", max_bytes=99)]
    [b"<r xmlns='u'>1</r>", b"<r xmlns='u'>2</r>"]
    """
    return _Splitter(tag, max_bytes).run(chunks)


# Comments, CDATA and processing instructions may quote tags: they are passed over as a whole.
_OPAQUE = rb"(?P<opaque>!--|!\[CDATA\[|\?)"
# In a DOCTYPE an entity's value may quote tags; the declarations of an internal subset are passed over one by one.
_DECLARATION = rb"""(?P<declaration>!(?!--|\[)(?:[^<>"'\[]|"[^"]*"|'[^']*')*[>\[])"""
_END_OF = {b"<!--": b"-->", b"<![CDATA[": b"]]>", b"<?": b"?>"}


class _Splitter:
    """Invariant: bytes before `_position` are read, and those before `_begin` not needed any more."""

    def __init__(self, tag: str, max_bytes: int) -> None:
        name = rb"(?:[^\s<>/!?:]++:)?" + re.escape(tag.encode()) + rb"(?=[\s/>])"
        # Both begin with a literal '<', which the regex engine finds at memory speed.
        self._inside = re.compile(
            rb"<(?:" + _OPAQUE + rb"|(?P<close>/" + name + rb"\s*>)|(?P<open>" + name + _REST + rb"))"
        )
        self._outside = re.compile(
            rb"<(?:" + _OPAQUE + rb"|(?P<close>/[^>]*>)|(?P<open>[^!?/<>\s]" + _REST + rb")|" + _DECLARATION + rb")"
        )
        self._is_record = re.compile(rb"<" + name)
        self._max_bytes = max_bytes
        self._buffer = b""
        self._position = 0
        self._begin = 0  # of the open record, if one is open
        self._line = 1  # at `_begin`
        self._ordinal = 0
        self._scopes: list[dict[bytes, bytes]] = [{}]  # namespace declarations in scope, one set per open ancestor
        self._until = b""  # the end of the opaque part we are in
        self._open = False  # a record is open
        self._depth = 0  # of nested elements of the record's own name
        self._oversized = False  # the open record is over the limit: find its end, keep nothing

    def run(self, chunks: Iterable[bytes]) -> Iterator[Record]:
        for chunk in chunks:
            self._buffer += chunk
            yield from self._read()
            self._shrink()
        if self._open:
            yield self._record(len(self._buffer), "oversized" if self._oversized else "truncated")
        elif len(self._scopes) > 1:
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
            token = (self._inside if self._open else self._outside).search(self._buffer, self._position)
            if token is None:
                rest = self._buffer.rfind(b"<", self._position)  # perhaps the beginning of a token
                self._position = rest if rest >= 0 else len(self._buffer)
                return
            kind = token.lastgroup
            self._position = token.end()
            if kind == "opaque":
                self._until = _END_OF[token[0]]
            elif self._open:
                self._depth += -1 if kind == "close" else not token[0].endswith(b"/>")
                if self._depth == 0:
                    yield self._record(self._position, "oversized" if self._oversized else "")
            elif kind == "open" and self._is_record.match(token[0]):
                self._open, self._depth, self._oversized = True, 0, False
                self._advance(token.start())
                self._position = token.start()  # the start tag is read again, as the record's own
            elif kind != "declaration":
                self._follow(kind, token[0])

    def _shrink(self) -> None:
        if self._open and len(self._buffer) - self._begin > self._max_bytes:
            self._oversized = True
        if not self._open or self._oversized:
            # A tag longer than a record may be is no tag: memory stays bounded whatever the bytes are.
            if len(self._buffer) - self._position > self._max_bytes:
                self._position = len(self._buffer)
            self._advance(self._position)
        self._buffer = self._buffer[self._begin :]
        self._position -= self._begin
        self._begin = 0

    def _advance(self, begin: int) -> None:
        self._line += self._buffer.count(b"\n", self._begin, begin)
        self._begin = begin

    def _follow(self, kind: str | None, tag: bytes) -> None:
        if kind == "close":
            if len(self._scopes) > 1:
                self._scopes.pop()
        elif not tag.endswith(b"/>"):
            declared = _declarations(tag)
            self._scopes.append({**self._scopes[-1], **declared} if declared else self._scopes[-1])

    def _record(self, end: int, fault: str) -> Record:
        self._ordinal += 1
        content = b"" if fault == "oversized" else self._buffer[self._begin : end]
        if self._scopes[-1]:
            content = _with_declarations(content, self._scopes[-1])
        record = Record(self._ordinal, content, self._line, fault)
        self._open = False
        self._advance(end)
        return record


def _declarations(start_tag: bytes) -> dict[bytes, bytes]:
    """Namespaces by `xmlns` or `xmlns:prefix`, in their quotes.

    >>> _declarations(b"<a b=' xmlns=no' xmlns:p = 'u'>")
    {b'xmlns:p': b"'u'"}
    """
    return {name: uri for name, uri in _ATTRIBUTE.findall(start_tag) if name.partition(b":")[0] == b"xmlns"}


def _with_declarations(content: bytes, inherited: dict[bytes, bytes]) -> bytes:
    name = _NAME.match(content, 1)
    if name is None:
        return content
    start_tag = _START_TAG.match(content)
    own = _declarations(start_tag[0] if start_tag else content)
    added = b"".join(b" " + name + b"=" + uri for name, uri in inherited.items() if name not in own)
    return content[: name.end()] + added + content[name.end() :]
