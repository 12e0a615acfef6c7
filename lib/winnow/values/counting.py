"""The labels and values of documents, counted: rows for people and for `Selectivity` alike."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Floats, Ints, Longs
from winnow.encoding import EncodedBatch, Vocabulary
from winnow.encoding.numbers import parse_number
from winnow.index.codes import text_codes
from winnow.values.predicates import BY_TEXT, number_code, values_of
from winnow.values.selectivity import Counts, Selectivity

SHOWN = 200  # characters of a value
LABEL, TEXT, NUMBER = "label", "text", "number"  # what a row counts: nodes, or those with a value as text or as number
_KEY = ["label", "counted", "code"]


class _Tally(NamedTuple):
    """Per distinct code: the position of its first occurrence, and how often it occurs."""

    codes: Longs
    first: Longs
    nodes: Longs
    documents: Longs


def count_values(batch: EncodedBatch, symbols: Ints, vocabulary: Vocabulary) -> pa.Table:
    """Rows (label, counted, code, value, occurrences, documents), each code once; `symbols` are those of paths, signed.

    Occurrences are nodes; documents are those that have any.
    """
    labels = text_codes(vocabulary.labels())
    values = values_of(batch, symbols, labels, np.full(labels.size, BY_TEXT, np.uint8))
    owner = np.repeat(np.arange(batch.documents), np.diff(values.ends))
    names = pa.array(vocabulary.labels(), pa.string()).take(pa.array(values.symbols))
    start, end = _spans(batch)
    numbers, number_codes = _numbers(batch.values, start, end, labels[values.symbols])

    def rows(counted: str, codes: Longs, at: Longs, show: Callable[[Longs], pa.Array]) -> pa.Table:
        tally = _tally(codes[at], owner[at])
        first = at[tally.first]
        return pa.table(
            {
                "label": names.take(pa.array(first)),
                "counted": pa.repeat(counted, first.size),
                "code": tally.codes,
                "value": show(first),
                "occurrences": tally.nodes,
                "documents": tally.documents,
            }
        )

    every, numeric = np.arange(values.codes.size), np.flatnonzero(~np.isnan(numbers))
    return pa.concat_tables(
        [
            rows(LABEL, labels[values.symbols], every, lambda first: pa.nulls(first.size, pa.string())),
            rows(TEXT, values.codes, every, lambda first: _shown(batch.values, start[first], end[first])),
            rows(NUMBER, number_codes, numeric, lambda first: pa.array(numbers[first]).cast(pa.string())),
        ]
    )


def merged(counted: Iterable[pa.Table]) -> pa.Table:
    """Counts of several batches without a common document, added up."""
    sums = [("value", "min"), ("occurrences", "sum"), ("documents", "sum")]
    return (
        pa.concat_tables(counted)
        .group_by(_KEY)
        .aggregate(sums)
        .rename_columns([*_KEY, "value", "occurrences", "documents"])
    )


def selectivity_of(rows: pa.Table, documents: int) -> Selectivity:
    """From counted rows of so many documents."""
    is_label = pc.equal(rows.column("counted"), LABEL)
    labels, values = (
        Counts.of(*(part.column(name).to_numpy() for name in ("code", "occurrences", "documents")))
        for part in (rows.filter(is_label), rows.filter(pc.invert(is_label)))
    )
    return Selectivity(documents, labels, values)


def _tally(codes: Longs, owner: Longs) -> _Tally:
    """Of codes and the documents that they are in."""
    order = np.lexsort((owner, codes))
    codes, owner = codes[order], owner[order]
    is_first = np.concatenate([[True], codes[1:] != codes[:-1]])[: codes.size]
    is_document = is_first | np.concatenate([[True], owner[1:] != owner[:-1]])[: codes.size]
    starts = np.flatnonzero(is_first)
    documents = np.add.reduceat(is_document.astype(np.int64), starts) if starts.size else starts
    return _Tally(codes[starts], order[starts], np.diff(starts, append=codes.size), documents)


def _spans(batch: EncodedBatch) -> tuple[Longs, Longs]:
    """Where the values lie, in the order of `values_of`: per document its nodes, then its text nodes."""
    owner = [np.repeat(np.arange(batch.documents), np.diff(ends)) for ends in (batch.doc_offsets, batch.text_offsets)]
    order = np.argsort(np.concatenate(owner), kind="stable")
    start = np.concatenate([batch.value_start, batch.text_start])[order].astype(np.int64)
    return start, np.concatenate([batch.value_end, batch.text_end])[order].astype(np.int64)


def _shown(values: Bytes, start: Longs, end: Longs) -> pa.Array:
    offsets, text = _cut(values, start, end)
    return pa.LargeStringArray.from_buffers(start.size, pa.py_buffer(offsets), pa.py_buffer(text)).cast(pa.string())


@kernel
def _cut(values: Bytes, start: Longs, end: Longs) -> tuple[Longs, Bytes]:
    """The first characters of each value, without splitting one."""
    offsets = np.zeros(start.size + 1, np.int64)
    for k in range(start.size):
        at, characters = start[k], 0
        while at < end[k]:
            characters += values[at] & 0xC0 != 0x80  # not the rest of a character
            if characters > SHOWN:
                break
            at += 1
        offsets[k + 1] = offsets[k] + at - start[k]
    text = np.empty(offsets[-1], np.uint8)
    for k in range(start.size):
        for i in range(offsets[k + 1] - offsets[k]):
            text[offsets[k] + i] = values[start[k] + i]
    return offsets, text


@kernel
def _numbers(values: Bytes, start: Longs, end: Longs, labels: Longs) -> tuple[Floats, Longs]:
    """Per value its number and the code of it; not a number has no code."""
    numbers, codes = np.empty(start.size, np.float64), np.zeros(start.size, np.int64)
    for k in range(start.size):
        numbers[k] = parse_number(values, start[k], end[k]) + 0.0  # minus zero is zero
        if numbers[k] == numbers[k]:  # not NaN
            codes[k] = number_code(labels[k], numbers[k])
    return numbers, codes
