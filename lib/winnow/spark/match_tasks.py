"""What workers do with documents: accept, match, locate witnesses; Arrow in, Arrow out."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from winnow.spark.places import MANIFEST, Place, cached

if TYPE_CHECKING:
    import pyarrow as pa

    from winnow.arrays.types import Ints
    from winnow.encoding import EncodedBatch
    from winnow.matcher import Matcher
    from winnow.spark.indexed_profiles import IndexedProfiles

INDEX_PARTITION = "winnow_index_partition"
OUTCOMES = ("outcome", "reason", "message")
_DOCUMENTS, _BYTES = 500, 16 << 20  # of one call of the kernels: what they touch of so many stays in the CPU's caches
_ROWS = 1 << 17  # of one batch of answers
_DECLARES_ENCODING = r"^<\?xml\s[^>]*encoding"
_MAX_TEXT = 1 << 30  # bytes of locations in one batch of answers: Arrow's text counts to 2 GB
_MAX_OPEN = 4  # index files: what a worker has learnt about documents is kept for so many, and its memory
_MAX_PATHS = 1 << 21  # documents are hostile: a worker that has met so many paths begins anew


@dataclass(frozen=True)
class IndexFiles:
    """The files of an index by partition, and where workers find them: a place, or files that the session carries."""

    files: tuple[str, ...]
    place: Place | None

    def open(self, number: int) -> "IndexedProfiles":
        """Returns a partition, mapped once by each worker."""
        name = self.files[number]
        index = _opened.get(name)
        if index is None or len(index.matcher.paths) > _MAX_PATHS:
            from winnow.spark.index_file import open_index

            _opened.pop(name, None)
            while len(_opened) >= _MAX_OPEN:  # the ones that were opened first
                del _opened[next(iter(_opened))]
            index = _opened[name] = open_index(cached(self.place, name) if self.place else _artifact(name))
        return index


def saved_files(uri: str) -> IndexFiles:
    """Returns the files of the index at a place, from its manifest; each worker reads it once."""
    if uri not in _saved:
        place = Place(uri)
        with place.open_input(MANIFEST) as source:
            _saved[uri] = IndexFiles(tuple(json.loads(source.read())["files"]), place)
    return _saved[uri]


_saved: dict[str, IndexFiles] = {}
_opened: "dict[str, IndexedProfiles]" = {}


def _artifact(name: str) -> Any:
    from pathlib import Path

    from pyspark import SparkFiles

    return Path(SparkFiles.get(name))


@dataclass(frozen=True)
class MatchDocuments:
    """The function of `mapInArrow`. Columns: the id, the content, what is carried, and perhaps the index partition."""

    index: IndexFiles
    id_column: str
    content_column: str
    carry: tuple[str, ...]
    outcomes: bool

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in batches:
            for number, rows in _by_partition(batch):
                for piece in _pieces(rows, self.content_column):
                    yield from self._answers(piece, number)

    def _answers(self, documents: "pa.RecordBatch", number: int) -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        index = self.index.open(number)
        found, refused = index.matcher.match_unjudged(*document_bytes(documents.column(self.content_column)))
        for start in range(0, found.documents.size, _ROWS):
            part = slice(start, start + _ROWS)
            profiles = index.profile_ids.take(pa.array(found.profiles[part]))
            for rows, witnesses in _located(index.matcher, found.batch, found.witnesses[part]):
                answers = _Answers(found.documents[part][rows], profiles[rows], witnesses, "match")
                yield self._rows(documents, answers)
        if self.outcomes and refused and number == 0:
            nobody = pa.nulls(len(refused), pa.string())
            told = [(str(verdict.reason), _sentence(verdict)) for verdict in refused.values()]
            yield self._rows(documents, _Answers(list(refused), nobody, nobody, "refused", told))
        if self.outcomes and found.undecided_documents.size:
            profiles = index.profile_ids.take(pa.array(found.undecided_profiles))
            nowhere = pa.nulls(len(profiles), pa.string())
            told = [(str(reason), message) for reason, message in found.undecided_reasons]
            yield self._rows(documents, _Answers(found.undecided_documents, profiles, nowhere, "undecided", told))

    def _rows(self, documents: "pa.RecordBatch", answers: "_Answers") -> "pa.RecordBatch":
        import pyarrow as pa

        chosen = pa.array(answers.documents)
        columns = {self.id_column: documents.column(self.id_column).take(chosen)}
        columns |= {"profile_id": answers.profiles, "witness": answers.witnesses}
        columns |= {name: documents.column(name).take(chosen) for name in self.carry}
        if self.outcomes:
            reasons, messages = zip(*answers.told or [(None, None)] * len(chosen), strict=True)
            told = ([answers.outcome] * len(chosen), reasons, messages)
            columns |= {name: pa.array(values, pa.string()) for name, values in zip(OUTCOMES, told, strict=True)}
        return pa.RecordBatch.from_pydict(columns)


class _Answers(NamedTuple):
    """Rows about documents of a batch; `told` are reasons and messages."""

    documents: Any
    profiles: "pa.Array"
    witnesses: "pa.Array"
    outcome: str
    told: Sequence[tuple[str | None, str | None]] = ()


def _located(matcher: "Matcher", batch: "EncodedBatch", nodes: "Ints") -> "Iterator[tuple[slice, pa.Array]]":
    """Yields the locations of nodes, of as many at a time as one Arrow column can hold, mostly of all.

    Profiles share their witnesses: each location is written once and then taken as often as it is asked for.
    """
    import numpy as np
    import pyarrow as pa

    from winnow.encoding import locations

    is_asked = np.zeros(batch.path.size, np.bool_)
    is_asked[nodes] = True
    distinct = np.flatnonzero(is_asked)
    text, ends = locations(batch, distinct, paths=matcher.paths, vocabulary=matcher.vocabulary)
    rank = (np.cumsum(is_asked, dtype=np.int32) - 1)[nodes]
    size = int(np.diff(ends)[rank].sum())
    if size > _MAX_TEXT and nodes.size > 1:
        for half in (slice(0, nodes.size // 2), slice(nodes.size // 2, nodes.size)):
            for rows, witnesses in _located(matcher, batch, nodes[half]):
                yield slice(half.start + rows.start, half.start + rows.stop), witnesses
        return
    written = pa.StringArray.from_buffers(distinct.size, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(text))
    yield slice(0, nodes.size), written.take(pa.array(rank))


def document_bytes(column: "pa.Array") -> tuple[Any, Any]:
    """Returns the bytes of documents and their offsets, uncopied. Nulls are empty.

    Text has no encoding but its own: where its XML declaration names another one, it is written anew.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from winnow.documents.transcode import to_utf8

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if is_text and pc.any(pc.match_substring_regex(column, _DECLARES_ENCODING)).as_py():
        texts = column.cast(pa.large_binary()).to_pylist()
        column = pa.array([text and to_utf8(text, "utf-8") for text in texts], pa.large_binary())
    wide = pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type)
    _, ends, data = column.buffers()
    offsets = np.frombuffer(ends, np.int64 if wide else np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data or b"", np.uint8), offsets


def _sentence(refused: Any) -> str:
    place = f"line {refused.line}" + (f", column {refused.column}" if refused.column else "") if refused.line else ""
    return f"{place}: {refused.message}" if place else str(refused.message)


def _by_partition(batch: "pa.RecordBatch") -> "Iterator[tuple[int, pa.RecordBatch]]":
    if INDEX_PARTITION not in batch.schema.names:
        yield 0, batch
        return
    import pyarrow.compute as pc

    numbers = batch.column(INDEX_PARTITION)
    for number in pc.unique(numbers).to_pylist():
        yield number, batch.filter(pc.equal(numbers, number))


def _pieces(batch: "pa.RecordBatch", content_column: str) -> "Iterator[pa.RecordBatch]":
    """Runs of documents that a kernel takes at once."""
    import numpy as np
    import pyarrow.compute as pc

    sizes = pc.fill_null(pc.binary_length(batch.column(content_column)), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(sizes)
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + _BYTES, side="right"))
        stop = min(max(stop, start + 1), start + _DOCUMENTS)
        yield batch.slice(start, stop - start)
        start = stop
