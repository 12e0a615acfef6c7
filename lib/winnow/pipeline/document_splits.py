"""Documents as tasks read them: runs of row groups, read with Arrow, not through the JVM."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from winnow.documents.transcode import to_utf8
from winnow.errors import DataError
from winnow.lake.parts import open_parquet, read_batches

SPLIT_BYTES = 32 << 20  # of documents per split
BATCH = 1000  # documents


class Split(NamedTuple):
    """Some row groups of one data file of `documents`, and which of their rows are meant."""

    path: str
    row_groups: tuple[int, ...]
    first: int  # number of the first chosen row within the work
    chosen: npt.NDArray[np.bool_] | None  # None: all


class Documents(NamedTuple):
    ids: pa.Array
    contents: list[bytes]  # in UTF-8; bytes that are not what `encoding` says stay as they are
    first: int  # number of the first within the work


def to_splits(files: Iterable[str], wanted: pa.Array | None = None) -> list[Split]:
    """Row groups in runs of about SPLIT_BYTES, so that tasks are even whatever the files are.

    `wanted` are document ids; a row group without any is not read. Rows are numbered in the order of the files.
    """
    splits: list[Split] = []
    number = 0
    for uri in files:
        with open_parquet(uri) as reader:
            groups = [reader.metadata.row_group(group) for group in range(reader.metadata.num_row_groups)]
            if wanted is None:
                mask = np.ones(reader.metadata.num_rows, np.bool_)
            else:
                ids = reader.read(columns=["document_id"]).column(0)
                mask = pc.is_in(ids, value_set=wanted).to_numpy()
        run: list[int] = []
        masks: list[npt.NDArray[np.bool_]] = []
        size = first = 0
        for group, about in enumerate(groups):
            own = mask[first : first + about.num_rows]
            first += about.num_rows
            if own.any():
                run.append(group)
                masks.append(own)
                size += about.total_byte_size
            if run and (size >= SPLIT_BYTES or group == len(groups) - 1):
                chosen = np.concatenate(masks)
                splits.append(Split(uri, tuple(run), number, None if chosen.all() else chosen))
                number += int(chosen.sum())
                run, masks, size = [], [], 0
    return splits


def read_documents(splits: Iterable[Split]) -> Iterator[Documents]:
    for split in splits:
        number = split.first
        for rows in gathered(_rows(split), BATCH, SPLIT_BYTES):
            yield Documents(rows.column(0), _contents(rows), number)
            number += rows.num_rows


def gathered(batches: Iterable[pa.RecordBatch], rows: int, size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of about so many, or of so many bytes: few of what was read may have been chosen."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(b.num_rows for b in held) >= rows or sum(b.nbytes for b in held) >= size:
            yield pa.concat_batches(held)
            held = []
    if sum(b.num_rows for b in held):
        yield pa.concat_batches(held)


def _rows(split: Split) -> Iterator[pa.RecordBatch]:
    """The chosen ones."""
    columns = ["document_id", "content", "encoding"]
    with open_parquet(split.path) as reader:
        groups, chosen = split.row_groups, split.chosen
        yield from read_batches(reader, groups, columns, rows=BATCH, size=SPLIT_BYTES, chosen=chosen)


def _contents(rows: pa.RecordBatch) -> list[bytes]:
    contents: list[bytes] = rows.column(1).to_pylist()
    for row in pc.indices_nonzero(pc.not_equal(rows.column(2), "utf-8")).to_pylist():
        with suppress(DataError):
            contents[row] = to_utf8(contents[row], rows.column(2)[row].as_py())
    return contents
