"""What a worker does with its share of new documents: their encoding, which have which path, a sample. No Spark."""

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Flags, Ints, Longs
from winnow.encoding import EncodedBatch, Encoder, PathTable, Status, Vocabulary
from winnow.encoding.restore import stored_values
from winnow.engines.symbols import PathSymbols
from winnow.index.codes import path_codes, text_codes
from winnow.index.packed import binary, pack
from winnow.ingest.accept import DEFAULT_LIMITS, Refused, accept
from winnow.ingest.reasons import Reason
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, PartWriter
from winnow.pipeline.document_splits import Split, read_documents
from winnow.values.reservoir import ranks

TABLES = ("encoded_documents", "path_documents", "document_samples")
_SAMPLE_COLUMNS = ["document_id", "rank", "content"]
_FLUSH = 1 << 22  # pairs of path and document that a worker keeps before it writes them


class SeenPaths(NamedTuple):
    """The paths of one task, parents before children; row 0 is the document."""

    labels: tuple[str, ...]  # by the task's own symbols
    parents: Ints
    symbols: Ints


class Encoded(NamedTuple):
    parts: list[Part]
    paths: SeenPaths
    documents: int
    nodes: int
    refused: dict[str, Refused]  # by document id: stored, and not XML to the encoder


@dataclass(frozen=True, kw_only=True)
class EncodeTask:
    lake: str
    date: dt.date
    batch: str
    part: int
    last_rank: int  # documents up to this rank are the sample
    tell: Callable[[int], None]  # so many documents are done

    def __call__(self, splits: Iterable[Split]) -> Encoded:
        vocabulary, paths = Vocabulary(), PathTable()
        encoder, symbols = Encoder(vocabulary, paths), PathSymbols(paths, vocabulary)
        partition = {"ingest_date": self.date, "batch": self.batch}
        outs = [PartWriter(self.lake, load_contract(table), partition) for table in TABLES]
        documents_out, paths_out, samples_out = outs
        met: list[tuple[Ints, Ints]] = []
        refused: dict[str, Refused] = {}
        pairs = documents = nodes = 0
        for ids, contents, first in read_documents(splits):
            batch = encoder.encode(contents, values=True)
            refused |= _refused(batch, ids, contents)
            documents_out.write(self._encoded(batch, ids, first, symbols.signed() < 0))
            self._keep_sample(samples_out, ids, contents)
            met.append(_distinct(batch, len(paths), first))
            pairs += met[-1][0].size
            documents += len(contents)
            nodes += batch.nodes
            if pairs > _FLUSH:
                paths_out.write(self._inverted(met, _codes(vocabulary, paths)))
                met, pairs = [], 0
            self.tell(len(contents))
        if met:
            paths_out.write(self._inverted(met, _codes(vocabulary, paths)))
        seen = SeenPaths(tuple(vocabulary.labels()), paths.parents.copy(), paths.symbols.copy())
        parts = [part for out in outs for part in out.close()]
        return Encoded(parts, seen, documents, nodes, refused)

    def _encoded(self, batch: EncodedBatch, ids: pa.Array, first: int, is_attribute: Flags) -> pa.Table:
        stored = stored_values(batch, is_attribute)
        columns: dict[str, Any] = {
            "document_id": ids,
            "row": np.arange(first, first + len(ids), dtype=np.int32),
            "part": self._part(len(ids)),
            "nodes": pack(batch.path, batch.doc_offsets),
            "spans": pack(stored.numbers, stored.ends),
            "values": binary(stored.data, stored.offsets),
        }
        return pa.table(columns)

    def _keep_sample(self, out: PartWriter, ids: pa.Array, contents: list[bytes]) -> None:
        rank = ranks(ids)
        chosen = np.flatnonzero(rank <= self.last_rank)
        kept = pa.array([contents[k] for k in chosen], pa.binary())
        out.write(pa.table([ids.take(pa.array(chosen)), pa.array(rank[chosen]), kept], names=_SAMPLE_COLUMNS))

    def _inverted(self, met: list[tuple[Ints, Ints]], codes: Longs) -> pa.Table:
        """The documents of each path."""
        path, row = (np.concatenate(column) for column in zip(*met, strict=True))
        order = np.argsort(path, kind="stable")  # rows ascend already
        path, row = path[order], row[order]
        starts = np.flatnonzero(np.concatenate([[True], path[1:] != path[:-1]]))
        numbers, rows = path[starts], pack(row, np.append(starts, path.size))
        columns = [pa.array(codes[numbers]), self._part(starts.size), pa.array(numbers), rows]
        return pa.table(columns, names=["path_id", "part", "number", "rows"])

    def _part(self, count: int) -> pa.Array:
        return pa.array(np.full(count, self.part, np.int32))


def _refused(batch: EncodedBatch, ids: pa.Array, contents: list[bytes]) -> dict[str, Refused]:
    """Documents without nodes. Acceptance takes none; what an older or another one took is refused here."""
    found = {}
    for document in np.flatnonzero(batch.status == Status.MALFORMED).tolist():
        verdict = accept(contents[document], DEFAULT_LIMITS)
        words = Refused(Reason.MALFORMED, "the encoder cannot read it, although acceptance takes it")
        found[ids[document].as_py()] = verdict if isinstance(verdict, Refused) else words
    return found


def _codes(vocabulary: Vocabulary, paths: PathTable) -> Longs:
    return path_codes(paths.parents, paths.symbols, text_codes(vocabulary.labels()))


@kernel
def _distinct(batch: EncodedBatch, paths: int, first: int) -> tuple[Ints, Ints]:
    """(path, document), each once; documents are numbered from `first`."""
    last = np.full(paths, -1, np.int64)
    path = np.empty(batch.path.size, np.int32)
    row = np.empty(batch.path.size, np.int32)
    used = 0
    for document in range(batch.doc_offsets.size - 1):
        for node in range(batch.doc_offsets[document], batch.doc_offsets[document + 1]):
            if last[batch.path[node]] != document:
                last[batch.path[node]] = document
                path[used] = batch.path[node]
                row[used] = first + document
                used += 1
    return path[:used].copy(), row[:used].copy()
