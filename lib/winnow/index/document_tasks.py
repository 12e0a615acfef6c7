"""What workers do with the bytes of documents; Arrow in, Arrow out."""

from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.documents.transcode import to_utf8
from winnow.encoding import Encoder, PathTable, Status, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.errors import DataError
from winnow.index.encoded_rows import DOCUMENT_COLUMNS, DocumentRows
from winnow.ingest.accept import DEFAULT_LIMITS, Refused, accept
from winnow.ingest.reasons import Reason
from winnow.values.counting import count_values

BATCH_DOCUMENTS, BATCH_BYTES = 1000, 32 << 20
COUNTED_COLUMNS = ["label", "counted", "code", "value", "occurrences", "documents"]
_MAX_PATHS = 1 << 21  # documents are hostile: a worker that has met so many paths begins anew
_REFUSED = pa.struct([("reason", pa.string()), ("line", pa.int64()), ("column", pa.int64()), ("message", pa.string())])


def encode_documents(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turns document_id, content and encoding into columns of `encoded_documents`."""
    rows = DocumentRows()
    for batch in batches:
        for piece in pieces(batch):
            contents = in_utf8(piece)
            encoded, columns = rows.encode(contents)
            refused = _refused(np.flatnonzero(encoded.status == Status.MALFORMED).tolist(), contents)
            names = ("document_id", *DOCUMENT_COLUMNS, "refused")
            arrays = [piece.column(0), *(columns[name] for name in DOCUMENT_COLUMNS), refused]
            yield pa.RecordBatch.from_arrays(arrays, names)
            if rows.paths > _MAX_PATHS:
                rows = DocumentRows()


def count_document_values(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Counts the labels and values of documents, given as document_id, content and encoding."""
    for batch in batches:
        for piece in pieces(batch):
            vocabulary, paths = Vocabulary(), PathTable()  # codes are made of labels and values, so any will do
            encoded = Encoder(vocabulary, paths).encode(in_utf8(piece), values=True)
            counted = count_values(encoded, PathSymbols(paths, vocabulary).signed(), vocabulary)
            yield from counted.select(COUNTED_COLUMNS).combine_chunks().to_batches()


def pieces(batch: pa.RecordBatch, content: int = 1) -> Iterator[pa.RecordBatch]:
    """Runs of documents that a kernel takes at once: so many, or so many bytes, but at least one."""
    sizes = pc.fill_null(pc.binary_length(batch.column(content)), 0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(sizes)
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + BATCH_BYTES, side="right"))
        stop = min(max(stop, start + 1), start + BATCH_DOCUMENTS, batch.num_rows)
        yield batch.slice(start, stop - start)
        start = stop


def in_utf8(rows: pa.RecordBatch) -> list[bytes]:
    """Returns the contents in UTF-8; bytes that are not what `encoding` says stay as they are."""
    contents: list[bytes] = rows.column(rows.schema.get_field_index("content")).to_pylist()
    encodings = rows.column(rows.schema.get_field_index("encoding"))
    for row in pc.indices_nonzero(pc.not_equal(encodings, "utf-8")).to_pylist():
        with suppress(DataError):
            contents[row] = to_utf8(contents[row], encodings[row].as_py())
    return contents


def _refused(documents: list[int], contents: list[bytes]) -> pa.Array:
    """Documents without nodes. Acceptance takes none; what an older or another one took is refused here."""
    told: list[dict[str, object] | None] = [None] * len(contents)
    for document in documents:
        verdict = accept(contents[document], DEFAULT_LIMITS)
        if not isinstance(verdict, Refused):
            verdict = Refused(Reason.MALFORMED, "the encoder cannot read it, although acceptance takes it")
        told[document] = {
            "reason": str(verdict.reason),
            "line": verdict.line,
            "column": verdict.column,
            "message": verdict.message,
        }
    return pa.array(told, _REFUSED)
