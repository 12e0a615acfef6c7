"""The labels and values of documents, counted: rows for people and for `Selectivity` alike."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.encoding import EncodedBatch, Vocabulary
from winnow.encoding.jit import kernel
from winnow.encoding.numbers import parse_number
from winnow.engines.twigs import Bytes, Ints, Longs
from winnow.index.codes import text_codes
from winnow.values.predicates import BY_TEXT, number_code, values_of
from winnow.values.selectivity import Selectivity

SHOWN = 200  # characters of a value
LABEL, TEXT, NUMBER = "label", "text", "number"  # what a row counts: nodes, or those with a value as text or as number
_KEY = ["label", "counted", "code"]


def count_values(batch: EncodedBatch, symbols: Ints, vocabulary: Vocabulary) -> pa.Table:
    """Rows (label, counted, code, value, occurrences), each code once; `symbols` are those of paths, signed."""
    labels = text_codes(vocabulary.labels())
    values = values_of(batch, symbols, labels, np.full(labels.size, BY_TEXT, np.uint8))
    totals = np.bincount(values.symbols, minlength=labels.size)
    seen = np.flatnonzero(totals)
    codes, first, counts = np.unique(values.codes, return_index=True, return_counts=True)
    start, end = (column[first] for column in _spans(batch))
    symbol = values.symbols[first]
    number_codes, is_number = _number_codes(batch.values, start, end, labels[symbol])
    at = np.flatnonzero(is_number)
    shown = _shown(batch.values, start, end)
    names = pa.array(vocabulary.labels(), pa.string())
    parts = [
        _rows(names.take(pa.array(seen)), LABEL, labels[seen], pa.nulls(seen.size, pa.string()), totals[seen]),
        _rows(names.take(pa.array(symbol)), TEXT, codes, shown, counts),
        _rows(names.take(pa.array(symbol[at])), NUMBER, number_codes[at], shown.take(pa.array(at)), counts[at]),
    ]
    return merged(parts)  # texts that are one number have one code


def merged(counted: Iterable[pa.Table]) -> pa.Table:
    """Counts of several batches, added up."""
    rows = pa.concat_tables(counted).group_by(_KEY).aggregate([("value", "min"), ("occurrences", "sum")])
    return rows.rename_columns([*_KEY, "value", "occurrences"])


def selectivity_of(rows: pa.Table, documents: int) -> Selectivity:
    """From counted rows of so many documents."""
    is_label = pc.equal(rows.column("counted"), LABEL)
    labels, values = rows.filter(is_label), rows.filter(pc.invert(is_label))
    columns = (part.column(name).to_numpy() for part in (labels, values) for name in ("code", "occurrences"))
    return Selectivity.of(documents, *columns)


def _rows(label: pa.Array, counted: str, codes: Longs, value: pa.Array, occurrences: Longs) -> pa.Table:
    columns: dict[str, Any] = {"label": label, "counted": pa.repeat(counted, len(label)), "code": pa.array(codes)}
    return pa.table(columns | {"value": value, "occurrences": pa.array(occurrences.astype(np.int64))})


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
def _number_codes(values: Bytes, start: Longs, end: Longs, labels: Longs) -> tuple[Longs, Bytes]:
    codes, is_number = np.zeros(start.size, np.int64), np.zeros(start.size, np.uint8)
    for k in range(start.size):
        number = parse_number(values, start[k], end[k])
        if number == number:  # noqa: PLR0124 - not NaN
            codes[k] = number_code(labels[k], number)
            is_number[k] = 1
    return codes, is_number
