"""Patterns as rows: flat, self-contained, and read back without a Python object for any of them.

`twig` is the pattern in the store's post-order stream, with the numbers of its own `labels` and `tests` in place of
symbols and test ids: so a row means the same whatever vocabulary it meets.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding.vocabulary import Vocabulary
from winnow.index.codes import line_codes, mix, text_codes
from winnow.patterns.intern import AXIS_BITS, FLAG_BITS, TEST_BITS
from winnow.patterns.lines import lines_of
from winnow.patterns.store import PatternStore
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT
from winnow.xpath.display import pattern_text
from winnow.xpath.pattern import Op, Pattern, Test

_TESTS = (1 << TEST_BITS) - 1


class Streams(NamedTuple):
    """Row k: `stream[ends[k]:ends[k + 1]]`, and likewise its labels and its tests."""

    stream: Ints
    ends: Longs
    labels: Ints
    label_ends: Longs
    tests: Ints
    test_ends: Longs


def write_test(test: Test) -> str:
    """
    >>> write_test(Test(Op.GT, 1.5)), write_test(Test(Op.EQ, "a b"))
    ('GT 0x1.8000000000000p+0', 'EQ a b')
    """
    operand = test.operand if isinstance(test.operand, str) else float(test.operand).hex()
    return f"{test.op.name} {operand}"


def read_test(text: str) -> Test:
    """
    >>> read_test("EQ a b").operand, read_test("GT 0x1.8p+0").operand
    ('a b', 1.5)
    """
    name, _, operand = text.partition(" ")
    op = Op[name]
    return Test(op, operand if op in {Op.EQ, Op.NE, Op.CONTAINS, Op.STARTS_WITH} else float.fromhex(operand))


def to_rows(patterns: Sequence[Pattern]) -> pa.Table:
    """pattern_id, pattern, twig, labels, tests, branches, valued: one row for each, in order."""
    store = PatternStore(Vocabulary())
    stream, ends = store.flatten(patterns)
    rows = _localise(stream, ends)
    labels, tests = store.vocabulary.labels(), [write_test(test) for test in store.tests]
    label_codes = text_codes(labels)
    codes = _pattern_codes(rows, label_codes, text_codes(tests))
    return pa.table(
        {
            "pattern_id": pa.array(codes),
            "pattern": pa.array([pattern_text(pattern) for pattern in patterns], pa.string()),
            "twig": _lists(rows.ends, pa.array(rows.stream)),
            "labels": _lists(rows.label_ends, pa.array(labels, pa.string()).take(pa.array(rows.labels))),
            "tests": _lists(rows.test_ends, pa.array(tests, pa.string()).take(pa.array(rows.tests))),
            "branches": _branches(store, stream, ends, label_codes),
            "valued": _valued(rows),
        }
    )


def _branches(store: PatternStore, stream: Ints, ends: Longs, labels: Longs) -> pa.ListArray:
    """The codes of each pattern's branches; the same pattern may come more than once."""
    ids = store.add_stream(stream, ends)
    lines = lines_of(store.twigs, 0, len(store), store.height)
    starts = np.searchsorted(lines.owner, np.arange(len(store) + 1))
    codes = line_codes(lines.steps, lines.ends, labels)
    of_pattern = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), pa.array(codes))
    return of_pattern.take(pa.array(ids))


def add_rows(store: PatternStore, rows: pa.Table) -> tuple[Ints, Longs]:
    """The stream of these rows with the symbols and tests of `store`, for `Engine.add_stream`."""
    twig, labels, tests = (_list_column(rows, name) for name in ("twig", "labels", "tests"))
    symbols = _bound(labels.values, store.vocabulary.add)
    test_ids = _bound(tests.values, lambda text: int(store.test_ids([read_test(text)])[0]))
    bound = Streams(_numbers(twig.values), _ends(twig), symbols, _ends(labels), test_ids, _ends(tests))
    stream, has_text = _bind(bound)
    store.has_values = store.has_values or has_text
    return stream, bound.ends


class _Lists(NamedTuple):
    offsets: pa.Array
    values: pa.Array


def _list_column(rows: pa.Table, name: str) -> _Lists:
    column = rows.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return _Lists(column.offsets, column.values)


def _ends(lists: _Lists) -> Longs:
    return np.asarray(lists.offsets).astype(np.int64)


def _numbers(values: pa.Array) -> Ints:
    return np.ascontiguousarray(values.to_numpy(zero_copy_only=False), np.int32)


def _bound(values: pa.Array, name: Callable[[str], int]) -> Ints:
    """Each distinct text is looked up once."""
    encoded = values.dictionary_encode()
    numbers = np.array([name(text) for text in encoded.dictionary.to_pylist()], np.int32)
    return numbers[encoded.indices.to_numpy(zero_copy_only=False)] if len(values) else np.zeros(0, np.int32)


def _lists(ends: Longs, values: pa.Array) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), values)


@kernel
def _localise(stream: Ints, ends: Longs) -> Streams:
    """Symbols and tests become numbers within the row: labels from 1 (negative for attributes), tests from 0."""
    out = stream.copy()
    labels = np.empty(stream.size, np.int32)
    tests = np.empty(stream.size, np.int32)
    label_ends = np.zeros(ends.size, np.int64)
    test_ends = np.zeros(ends.size, np.int64)
    used = 0
    tested = 0
    for k in range(ends.size - 1):
        at = ends[k]
        while at < ends[k + 1]:
            count = (stream[at] >> (AXIS_BITS + FLAG_BITS)) & _TESTS
            symbol = stream[at + 1]
            if symbol not in (0, ANY_ELEMENT, ANY_ATTRIBUTE):
                place = label_ends[k]
                while place < used and labels[place] != abs(symbol):
                    place += 1
                if place == used:
                    labels[used] = abs(symbol)
                    used += 1
                number = place - label_ends[k] + 1
                out[at + 1] = number if symbol > 0 else -number
            for i in range(at + 2, at + 2 + count):
                place = test_ends[k]
                while place < tested and tests[place] != stream[i]:
                    place += 1
                if place == tested:
                    tests[tested] = stream[i]
                    tested += 1
                out[i] = place - test_ends[k]
            at += 2 + count
        label_ends[k + 1] = used
        test_ends[k + 1] = tested
    return Streams(out, ends, labels[:used].copy(), label_ends, tests[:tested].copy(), test_ends)


@kernel
def _bind(rows: Streams) -> tuple[Ints, bool]:
    """The inverse of `_localise`, and whether some pattern asks for text nodes."""
    out = rows.stream.copy()
    has_text = False
    for k in range(rows.ends.size - 1):
        at = rows.ends[k]
        while at < rows.ends[k + 1]:
            count = (out[at] >> (AXIS_BITS + FLAG_BITS)) & _TESTS
            symbol = out[at + 1]
            if symbol == 0:
                has_text = has_text or at + 2 + count < rows.ends[k + 1]  # the last node is the document
            elif symbol not in (ANY_ELEMENT, ANY_ATTRIBUTE):
                number = rows.labels[rows.label_ends[k] + abs(symbol) - 1]
                out[at + 1] = number if symbol > 0 else -number
            for i in range(at + 2, at + 2 + count):
                out[i] = rows.tests[rows.test_ends[k] + out[i]]
            at += 2 + count
    return out, has_text


@kernel
def _valued(rows: Streams) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Per pattern: it tests a value or asks for a text node."""
    found = np.zeros(rows.ends.size - 1, np.bool_)
    for k in range(found.size):
        at = rows.ends[k]
        while at < rows.ends[k + 1] - 2:  # the last node is the document
            count = (rows.stream[at] >> (AXIS_BITS + FLAG_BITS)) & _TESTS
            found[k] = found[k] or count > 0 or rows.stream[at + 1] == 0
            at += 2 + count
    return found


@kernel
def _pattern_codes(rows: Streams, labels: Longs, tests: Longs) -> Longs:
    codes = np.zeros(rows.ends.size - 1, np.int64)
    for k in range(codes.size):
        code = np.int64(rows.ends[k + 1] - rows.ends[k])
        for i in range(rows.ends[k], rows.ends[k + 1]):
            code = mix(code, np.int64(rows.stream[i]))
        for i in range(rows.label_ends[k], rows.label_ends[k + 1]):
            code = mix(code, labels[rows.labels[i]])
        for i in range(rows.test_ends[k], rows.test_ends[k + 1]):
            code = mix(code, tests[rows.tests[i]])
        codes[k] = code
    return codes
