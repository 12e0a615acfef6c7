"""From a value to what waits for it at a place: hash for `=`, sorted bounds, an automaton for substrings and prefixes.

Which places there are is the engine's to say: accepting states (Miliaraki and Koubarakis, DEBS 2010, §4.3), or states
that a value must let through (Moro, Bakalov, Tsotras, VLDB 2007, §3.2, "Value Constraints").
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import inlined
from winnow.arrays.types import Bytes, Ints
from winnow.encoding.numbers import parse_number
from winnow.encoding.simd import raw
from winnow.engines.predicates.access import Accesses, Rows
from winnow.engines.predicates.automaton import FEW, Automata, Scratch, build_automata, find_tests, new_scratch
from winnow.engines.predicates.lookup import Lookup, build_lookup, first_at_least, text_test
from winnow.engines.predicates.postings import (
    BY_BOUND,
    BY_NUMBER,
    BY_TEXT,
    BY_TRIAL,
    HASHED,
    LOWER,
    TRIED,
    UPPER,
    Posted,
    Postings,
)
from winnow.patterns.twigs import Tests
from winnow.patterns.value_tests import GE, LE, holds


class Families(NamedTuple):
    """For kernels. `room` is as long as the longest answer."""

    needs: Bytes  # per place: BY_ flags
    hashed: Posted
    tried: Posted
    lower: Posted
    upper: Posted
    lookup: Lookup
    automata: Automata
    scratch: Scratch
    tests: Tests
    room: Ints


class ValueIndex:
    """Rows (place, test, entry); the families are written anew when rows have come since."""

    def __init__(self) -> None:
        self._place, self._test, self._entry = (Column(np.int32) for _ in range(3))
        self._families: Families | None = None

    def __len__(self) -> int:
        return len(self._entry)

    @property
    def nbytes(self) -> int:
        return 3 * 2 * int(self._entry.view.nbytes)  # the rows, and what the families hold of them

    def add(self, place: Ints, test: Ints, entry: Ints) -> None:
        if place.size:
            self._place.extend(place)
            self._test.extend(test)
            self._entry.extend(entry)
            self._families = None

    def families(self, tests: Tests) -> Families:
        """For one call of a kernel, which numbers its values from 1."""
        if self._families is None:
            self._families = self._build(tests)
        return self._families._replace(scratch=new_scratch(self._families.automata))

    def _build(self, tests: Tests) -> Families:
        place = self._place.view
        counts = np.bincount(place)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        order = np.argsort(place, kind="stable")
        nobody = Rows(np.zeros(offsets.size, np.int64), np.zeros(0, np.int32))
        accesses = Accesses(nobody, offsets, self._test.view[order], self._entry.view[order])
        postings = Postings()
        postings.extend(np.arange(offsets.size), np.arange(counts.size, dtype=np.int32), accesses, tests)
        waited = np.unique(self._test.view)
        automata = build_automata(tests, waited)
        return Families(
            needs=postings.needs,
            hashed=postings.family(HASHED),
            tried=postings.family(TRIED),
            lower=postings.family(LOWER),
            upper=postings.family(UPPER),
            lookup=build_lookup(tests, waited),
            automata=automata,
            scratch=new_scratch(automata),
            tests=tests,
            room=np.empty(int(counts.max(initial=0)) + 1, np.int32),
        )


@inlined
def raw_tests(tests: Tests) -> Tests:
    return Tests(raw(tests.op), raw(tests.number), raw(tests.start), raw(tests.end), raw(tests.text))


@inlined
def _raw_posted(posted: Posted) -> Posted:
    return Posted(raw(posted.offsets), raw(posted.test), raw(posted.entry))


@inlined
def raw_families(families: Families) -> Families:
    """The families as pointers, but for what is handed on to other kernels."""
    lookup = families.lookup
    return Families(
        raw(families.needs),
        _raw_posted(families.hashed),
        _raw_posted(families.tried),
        _raw_posted(families.lower),
        _raw_posted(families.upper),
        Lookup(raw(lookup.slots), lookup.mask, lookup.longest, lookup.numbers, lookup.number_tests),
        families.automata,
        families.scratch,
        raw_tests(families.tests),
        raw(families.room),
    )


@inlined
def _take(posted: Posted, place: int, wanted: int, room: Ints, count: int) -> int:
    """Append the entries that wait for one test."""
    stop = posted.offsets[place + 1]
    k = first_at_least(posted.test, posted.offsets[place], stop, wanted)
    while k < stop and posted.test[k] == wanted:
        room[count] = posted.entry[k]
        count += 1
        k += 1
    return count


@inlined
def passing(families: Families, place: int, values: Bytes, span: tuple[int, int], serial: int) -> int:
    """Write to `room` the entries whose tests the value passes; how many. `serial` is the number of the value."""
    start, end = span
    need, room, tests = families.needs[place], families.room, families.tests
    count = 0
    number = np.nan
    if need & (BY_NUMBER | BY_BOUND):
        number = parse_number(values, start, end)
    if need & BY_TEXT:
        wanted = text_test(families.lookup, tests, values, start, end)
        if wanted >= 0:
            count = _take(families.hashed, place, wanted, room, count)
    if need & BY_NUMBER and number == number:  # noqa: PLR0124 - not NaN
        at = np.searchsorted(families.lookup.numbers, number)
        if at < families.lookup.numbers.size and families.lookup.numbers[at] == number:
            count = _take(families.hashed, place, families.lookup.number_tests[at], room, count)
    if need & BY_TRIAL:
        tried = families.tried
        if tried.offsets[place + 1] - tried.offsets[place] > FEW:
            for turn in range(find_tests(families.automata, values, span, families.scratch, serial)):
                count = _take(tried, place, families.scratch.hits[turn], room, count)
        else:
            for k in range(tried.offsets[place], tried.offsets[place + 1]):
                if holds(tests, tried.test[k], values, start, end):
                    room[count] = tried.entry[k]
                    count += 1
    if need & BY_BOUND and number == number:  # noqa: PLR0124 - not NaN
        for side in range(2):
            posted = families.lower if side == 0 else families.upper
            for k in range(posted.offsets[place], posted.offsets[place + 1]):
                bound = tests.number[posted.test[k]]
                if (bound > number) if side == 0 else (bound < number):
                    break
                if bound != number or tests.op[posted.test[k]] == (GE if side == 0 else LE):
                    room[count] = posted.entry[k]
                    count += 1
    return count
