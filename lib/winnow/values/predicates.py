"""Equality predicates as codes: those that patterns ask for, and those that a document satisfies.

A predicate is a label and a value, `@year = '2009'` or `author = 'Smith'`. Its code is 64 bits over the content, like
all codes (`winnow.index.codes`), so filters and statistics mean the same in every process. The candidate predicates of
a document (Miliaraki and Koubarakis, DEBS 2010, §4.1.1) are the codes of all its values; a pattern whose predicate is
not among them cannot hold. Two predicates with one code only make a filter let through what it could have stopped.
"""

from typing import Any, NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Ints, Longs
from winnow.encoding import EncodedBatch
from winnow.encoding.numbers import parse_number
from winnow.index.codes import bytes_code, mix
from winnow.patterns.lines import LEAF, Lines
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT, Tests
from winnow.patterns.value_tests import EQ, NUM_EQ

BY_TEXT, BY_NUMBER = 1, 2  # how the values of a label are compared


class Predicates(NamedTuple):
    """Row k: pattern `owner[k]` asks for a value of symbol `symbol[k]`; ascending by owner."""

    owner: Ints
    symbol: Ints  # not signed; 0 for text nodes
    kind: Bytes
    codes: Longs


class Values(NamedTuple):
    """The values of document d: `codes[ends[d]:ends[d + 1]]`, under `symbols` alike; not distinct."""

    codes: Longs
    symbols: Ints
    ends: Longs


class Equalities(NamedTuple):
    """Row `row[k]` of some lines asks for a value of symbol `symbol[k]`; ascending by row."""

    row: Longs
    symbol: Ints  # not signed; 0 for text nodes
    kind: Bytes
    codes: Longs


def equalities_of(symbol: Ints, test: Ints, tests: Tests, labels: Longs) -> Equalities:
    """Those of lines that end at these symbols with these tests; `labels` are the codes of the vocabulary's labels.

    A predicate on any element, `*[. = 'x']`, is left out: no label says where to look.
    """
    known = np.maximum(test, 0)
    op = tests.op[known] if tests.op.size else np.zeros(test.size, np.uint8)
    named = (symbol != ANY_ELEMENT) & (symbol != ANY_ATTRIBUTE)
    rows = np.flatnonzero((test != LEAF) & ((op == EQ) | (op == NUM_EQ)) & named)
    symbol = np.abs(symbol[rows])
    kind = np.where(op[rows] == EQ, BY_TEXT, BY_NUMBER).astype(np.uint8)
    return Equalities(rows, symbol, kind, _test_codes(tests, test[rows], labels[symbol]))


def predicates_of(lines: Lines, tests: Tests, labels: Longs) -> Predicates:
    """The equality predicates of patterns, given their lines."""
    found = equalities_of(lines.steps[lines.ends[:-1]] >> 1, lines.test, tests, labels)
    return Predicates(lines.owner[found.row], found.symbol, found.kind, found.codes)


def asked_kinds(predicates: Predicates, symbols: int) -> Bytes:
    """Per symbol of the vocabulary the BY_ flags of its predicates."""
    kinds = np.zeros(symbols, np.uint8)
    np.bitwise_or.at(kinds, predicates.symbol, predicates.kind)
    return kinds


@kernel
def number_code(label: Any, number: float) -> Any:
    """Numbers that are equal have one code; minus zero is zero."""
    word = np.array([number + 0.0]).view(np.int64)[0]
    return mix(mix(label, np.int64(-1)), word)


@kernel
def _test_codes(tests: Tests, test: Ints, labels: Longs) -> Longs:
    codes = np.empty(test.size, np.int64)
    for k in range(test.size):
        if tests.op[test[k]] == EQ:
            codes[k] = bytes_code(labels[k], tests.text, tests.start[test[k]], tests.end[test[k]])
        else:
            codes[k] = number_code(labels[k], tests.number[test[k]])
    return codes


@kernel
def values_of(batch: EncodedBatch, symbols: Ints, labels: Longs, kinds: Bytes) -> Values:
    """The values of the documents whose labels have a kind; `symbols` are those of paths, signed.

    Labels that came later than `kinds` have none.
    """
    codes = np.empty(1024, np.int64)
    found = np.empty(1024, np.int32)
    ends = np.zeros(batch.doc_offsets.size, np.int64)
    used = 0
    for document in range(batch.doc_offsets.size - 1):
        first, stop = batch.doc_offsets[document], batch.doc_offsets[document + 1]
        text_first, text_stop = batch.text_offsets[document], batch.text_offsets[document + 1]
        for k in range(stop - first + (text_stop - text_first if kinds[0] else 0)):
            text = text_first + k - (stop - first)
            symbol = np.int32(0) if text >= text_first else abs(symbols[batch.path[first + k]])
            kind = kinds[symbol] if symbol < kinds.size else np.uint8(0)
            if not kind:
                continue
            if text >= text_first:
                start, end = batch.text_start[text], batch.text_end[text]
            else:
                start, end = batch.value_start[first + k], batch.value_end[first + k]
            if used + 2 > codes.size:
                codes = np.concatenate((codes, np.empty_like(codes)))
                found = np.concatenate((found, np.empty_like(found)))
            if kind & BY_TEXT:
                codes[used] = bytes_code(labels[symbol], batch.values, start, end)
                found[used] = symbol
                used += 1
            if kind & BY_NUMBER:
                number = parse_number(batch.values, start, end)
                if number == number:  # noqa: PLR0124 - not NaN
                    codes[used] = number_code(labels[symbol], number)
                    found[used] = symbol
                    used += 1
        ends[document + 1] = used
    return Values(codes[:used], found[:used], ends)
