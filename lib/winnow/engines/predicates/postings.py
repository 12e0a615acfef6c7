"""Per place, the patterns that wait for a value there: path ⋈ branch with its test, written out.

A place has four lists: tests found by hash (`=`), tests of substrings and prefixes (found by an automaton, or tried one
after the other where they are few), lower bounds ascending and upper bounds descending. So the work for a value is a
look-up, and then what it finds. A fifth list has the lines, of those that the place has, which patterns wait for
without a test.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Bytes, Floats, Ints, Longs
from winnow.engines.predicates.access import Accesses, Rows
from winnow.patterns.twigs import Tests
from winnow.patterns.value_tests import CONTAINS, EQ, GE, GT, LE, LT, NUM_EQ, STARTS_WITH

FAMILIES = ((EQ, NUM_EQ), (CONTAINS, STARTS_WITH), (GT, GE), (LT, LE))
HASHED, TRIED, LOWER, UPPER = range(4)

# What the value of a node at a place is needed for, by operator.
BY_TEXT, BY_NUMBER, BY_TRIAL, BY_BOUND = 1, 2, 4, 8
_NEEDS = {EQ: BY_TEXT, NUM_EQ: BY_NUMBER, CONTAINS: BY_TRIAL, STARTS_WITH: BY_TRIAL}
_NEEDS |= dict.fromkeys((GT, GE, LT, LE), BY_BOUND)


class Posted(NamedTuple):
    """One family, for kernels: place p has `test[offsets[p]:offsets[p + 1]]` and the same of `entry`."""

    offsets: Longs
    test: Ints
    entry: Ints


class Postings:
    def __init__(self) -> None:
        self._line_offsets, self._lines = Column(np.int64), Column(np.int32)
        self._line_offsets.resize(1, 0)
        self._families = [(Column(np.int64), Column(np.int32), Column(np.int32)) for _ in FAMILIES]
        for offsets, _, _ in self._families:
            offsets.resize(1, 0)
        self._needs = Column(np.uint8)

    @property
    def places(self) -> int:
        return len(self._needs)

    @property
    def needs(self) -> Bytes:
        """Per place: BY_ flags."""
        return self._needs.view

    @property
    def lines(self) -> Rows:
        """Per place: lines that somebody waits for."""
        return Rows(self._line_offsets.view, self._lines.view)

    def family(self, family: int) -> Posted:
        offsets, test, entry = self._families[family]
        return Posted(offsets.view, test.view, entry.view)

    def extend(self, offsets: Longs, lines: Ints, accesses: Accesses, tests: Tests) -> None:
        """Take up further places: those of `offsets`, `lines` (see `LineIndex`) from `places` on."""
        start, stop = self.places, offsets.size - 1
        line = lines[offsets[start] :]
        line_place = np.repeat(np.arange(start, stop), np.diff(offsets[start:]))
        begin, end = accesses.offsets[line], accesses.offsets[line + 1]
        is_waited = accesses.waiting.offsets[line] < accesses.waiting.offsets[line + 1]
        waited_counts = np.bincount(line_place[is_waited] - start, minlength=stop - start)
        self._line_offsets.extend(len(self._lines) + np.cumsum(waited_counts))
        self._lines.extend(line[is_waited])
        counts = end - begin
        rows = np.repeat(end - np.cumsum(counts), counts) + np.arange(counts.sum())
        place = np.repeat(line_place, counts)
        test, entry = accesses.test[rows], accesses.entry[rows]
        ops = tests.op[test]
        self._needs.resize(stop, 0)
        for op, need in _NEEDS.items():
            self._needs.view[place[ops == op]] |= need
        for family, wanted in enumerate(FAMILIES):
            chosen = np.flatnonzero(np.isin(ops, wanted))
            key = _sort_key(family, test[chosen], tests.number)
            chosen = chosen[np.lexsort((key, place[chosen]))]
            ends, kept_tests, entries = self._families[family]
            ends.extend(len(entries) + np.cumsum(np.bincount(place[chosen] - start, minlength=stop - start)))
            kept_tests.extend(test[chosen])
            entries.extend(entry[chosen])


def _sort_key(family: int, test: Ints, number: Floats) -> Ints | Floats:
    if family == LOWER:
        return number[test]
    return -number[test] if family == UPPER else test
