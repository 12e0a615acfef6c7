"""The encoder: documents as bytes to an `EncodedBatch`, growing one vocabulary and one path table."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from winnow.encoding.batch import EncodedBatch, Status, concat
from winnow.encoding.layout import (
    DONE,
    GIVEN_UP,
    GROW,
    MISS_KEY,
    MISS_LENGTH,
    MISS_START,
    POSITION,
    STOP,
    Bounds,
    Scan,
    Source,
)
from winnow.encoding.names import ATTRIBUTE, DECLARATION, NAMESPACE, NameTable
from winnow.encoding.namespaces import MAX_SIZE, Contexts, UnresolvedNameError, encoding_of
from winnow.encoding.paths import PathTable
from winnow.encoding.scanner import prove_documents, scan_documents
from winnow.encoding.simd import SLACK
from winnow.encoding.tree import encode_content, rewrite
from winnow.encoding.vocabulary import Vocabulary
from winnow.encoding.workspace import Workspace
from winnow.errors import UsageError

Bytes = npt.NDArray[np.uint8]
Longs = npt.NDArray[np.int64]

_MAX_BYTES = 2**31 - 1 - SLACK  # spans are int32
_AHEAD = 1 << 12  # bytes of a tag behind a new name in which other new ones are looked for, at least
_VALUE = rb"""\s*+=\s*+(?:"[^"]*+"|'[^']*+')"""
_REST_OF_ATTRIBUTE = re.compile(_VALUE)
_ATTRIBUTE = re.compile(rb"""\s++(?P<whole>(?P<name>[^\s=/>"']++)%s)""" % _VALUE)
_DECLARED_NAME = re.compile(rb"xmlns(?::|$)")
_MAX_NAMES, _MAX_NAME_BYTES = 2**20, 2**26  # documents are hostile: beyond this the look-up starts anew


class Encoder:
    """Encodes UTF-8 documents that libxml2 has accepted; others are exact, too, only slower, or `Status.MALFORMED`.

    What nobody has judged yet is encoded by `winnow.documents.acceptance`.
    Give it hundreds of documents at a time: a call costs as much as a dozen of them. One encoder serves one thread.

    >>> from winnow.encoding import Vocabulary, PathTable
    >>> words, paths = Vocabulary(), PathTable()
    >>> batch = Encoder(words, paths).encode([b"<a x='1'><b>one</b> two</a>"], values=True)
    >>> [paths.labels(path, words) for path in batch.path]
    [('a',), ('a', '@x'), ('a', 'b')]
    >>> batch.value(0), batch.value(1), batch.value(2)
    (b'one two', b'1', b'one')
    """

    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        self.vocabulary = vocabulary
        self.paths = paths
        self.bytes_read_again = 0  # by the scanner, because it had not met a name
        self._workspace = Workspace()
        self._forget_names()

    def encode(self, documents: Sequence[bytes], *, values: bool, bounds: Bounds | None = None) -> EncodedBatch:
        """Encode documents; without values only their structure (no string-values, no text nodes), which is cheaper.

        With bounds, nothing is known of the documents: those that the scanner proves to be well-formed and within the
        bounds are `Status.SCANNED`; all others are `Status.UNPROVEN` and without nodes, and libxml2 is not asked.
        """
        offsets = np.zeros(len(documents) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, documents), np.int64, len(documents)), out=offsets[1:])
        data = np.frombuffer(b"".join([*documents, bytes(SLACK)]), np.uint8)
        return self.encode_buffer(data, offsets, values=values, bounds=bounds)

    def encode_buffer(
        self,
        data: Bytes,
        offsets: npt.NDArray[np.int64] | npt.NDArray[np.int32],
        *,
        values: bool,
        bounds: Bounds | None = None,
    ) -> EncodedBatch:
        """Encode the documents `data[offsets[d]:offsets[d + 1]]`, the layout of an Arrow binary column, uncopied.

        Only the documents at the very end of the buffer are copied, because the scanner reads blocks.
        """
        _check(data, offsets)
        names = self._names
        if len(names) > _MAX_NAMES or names.heap_bytes > _MAX_NAME_BYTES or self._contexts.size > MAX_SIZE:
            self._forget_names()
        data = data[offsets[0] : int(offsets[-1]) + SLACK]
        starts = offsets.astype(np.int64) - offsets[0]
        batch = self._scanned(data, starts, values=values, bounds=bounds)
        return self._walk_the_rest(batch, data, starts) if bounds is None else batch

    def _scanned(self, data: Bytes, starts: Longs, *, values: bool, bounds: Bounds | None = None) -> EncodedBatch:
        documents = starts.size - 1
        self._workspace.reserve(starts, values=values, bounds=bounds)
        self._workspace.state[:] = 0
        self._workspace.state[POSITION] = -1
        padded = int(np.searchsorted(starts[1:], data.size - SLACK, side="right"))
        self._scan(_source(data, starts), padded)
        if padded < documents:
            tail = np.concatenate([data[starts[padded] : starts[-1]], np.zeros(SLACK, np.uint8)])
            self._scan(_source(tail, starts - starts[padded]), documents)
        return self._workspace.batch(documents)

    def _scan(self, source: Source, stop: int) -> None:
        workspace = self._workspace
        workspace.state[STOP] = stop
        kernel = prove_documents if workspace.work.strict else scan_documents
        while True:
            scan = Scan(source, self._names.index, workspace.output, workspace.work, workspace.state)
            result = kernel(scan)
            if result == DONE:
                return
            if result == GROW:
                workspace.grow()
                continue
            start, length = int(workspace.state[MISS_START]), int(workspace.state[MISS_LENGTH])
            read_again = start + length - max(int(workspace.state[POSITION]), 0)
            self.bytes_read_again += read_again
            key = int(workspace.state[MISS_KEY])
            try:
                value = self._learn(source.data[start : start + length].tobytes(), key)
            except UnresolvedNameError:
                workspace.state[POSITION] = GIVEN_UP
                continue
            following = source.data[start + length : start + length + max(_AHEAD, read_again)]
            if key & 3 == ATTRIBUTE:
                self._learn_following_names(following, key)
            elif key & 3 == NAMESPACE:
                self._learn_following_declarations(following, context=value)

    def _learn(self, span: bytes, key: int) -> int:
        """Give the scanner what it missed, and return it; `key` is that of `names.name_key`."""
        parent, context, kind = key >> 32, (key & 0xFFFFFFFF) >> 2, key & 3
        if kind == DECLARATION:
            value = encoding_of(span)
        elif kind == NAMESPACE:
            value = self._contexts.declare(context, span)
        else:
            expand = self._contexts.expand_attribute if kind == ATTRIBUTE else self._contexts.expand
            value = self.paths.add(parent, self.vocabulary.add(expand(context, span)))
        self._names.add(span, key, value)
        return value

    def _learn_following_names(self, data: Bytes, key: int) -> None:
        """Give the scanner the other new names of a tag at once: after each it reads the tag again.

        `data` follows a missed name and is as long as what is read again, if not longer: each time twice as much of the
        tag is known. What is not an attribute ends the tag or is for the scanner to judge.
        """
        tag = data.tobytes()
        rest = _REST_OF_ATTRIBUTE.match(tag)
        if rest:
            spans = [found.span("name") for found in _attributes(tag, rest.end()) if not _is_declaration(found)]
            self._learn_unknown(data, spans, [key] * len(spans))

    def _learn_following_declarations(self, data: Bytes, *, context: int) -> None:
        """The same for the other declarations of a tag, of which each leads from one context to the next."""
        tag = data.tobytes()
        spans, keys = [], []
        for found in _attributes(tag, 0):
            if _is_declaration(found):
                spans.append(found.span("whole"))
                keys.append(context << 2 | NAMESPACE)
                try:
                    context = self._contexts.declare(context, found["whole"])
                except UnresolvedNameError:
                    break
        self._learn_unknown(data, spans, keys)

    def _learn_unknown(self, data: Bytes, spans: list[tuple[int, int]], keys: list[int]) -> None:
        short = [k for k, (start, stop) in enumerate(spans) if stop - start <= _AHEAD]
        for span, key in self._names.unknown(data, [spans[k] for k in short], [keys[k] for k in short]):
            with suppress(UnresolvedNameError):
                self._learn(span, key)

    def _walk_the_rest(self, batch: EncodedBatch, data: Bytes, offsets: Longs) -> EncodedBatch:
        """Lets libxml2 write anew what the scanner cannot read, and walks its tree where even that does not help."""
        rest = np.flatnonzero(batch.status != Status.SCANNED).tolist()
        if not rest:
            return batch
        contents = [data[offsets[document] : offsets[document + 1]].tobytes() for document in rest]
        rewritten = [rewrite(content) or b"" for content in contents]
        ends = np.cumsum([0, *map(len, rewritten)])
        joined = np.frombuffer(b"".join([*rewritten, bytes(SLACK)]), np.uint8)
        again = self._scanned(joined, ends, values=batch.with_values)
        walked = again._replace(status=np.full_like(again.status, Status.WALKED))
        parts = []
        for k, (document, following) in enumerate(zip(rest, [*rest[1:], batch.documents], strict=True)):
            if again.status[k] == Status.SCANNED:
                parts.append(walked.slice(k, k + 1))
            else:
                parts.append(encode_content(contents[k], self.vocabulary, self.paths, values=batch.with_values))
            parts.append(batch.slice(document + 1, following))
        return concat([batch.slice(0, rest[0]), *parts])

    def _forget_names(self) -> None:
        """Start the look-up anew; ids stay, because they live in the vocabulary and the path table."""
        self._names = NameTable()
        self._contexts = Contexts()


def _check(data: Bytes, offsets: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> None:
    size = int(offsets[-1]) - int(offsets[0])
    if size > _MAX_BYTES:
        raise UsageError("batch_too_large", f"{size} bytes in one batch, the limit is {_MAX_BYTES}")
    if offsets[0] < 0 or offsets[-1] > data.size or (np.diff(offsets) < 0).any():
        raise UsageError("bad_offsets", f"offsets must grow from 0 to the size of the buffer, {data.size}")


def _attributes(tag: bytes, start: int) -> Iterator[re.Match[bytes]]:
    """The attributes and declarations that follow each other from `start` on."""
    while found := _ATTRIBUTE.match(tag, start):
        yield found
        start = found.end()


def _is_declaration(attribute: re.Match[bytes]) -> bool:
    return bool(_DECLARED_NAME.match(attribute["name"]))


def _source(data: Bytes, offsets: Longs) -> Source:
    """Read-only, so that the scanner is compiled for one type, whoever owns the bytes."""
    data = np.ascontiguousarray(data).view()
    data.setflags(write=False)
    return Source(data, offsets)
