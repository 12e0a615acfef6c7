"""The walk over a batch: each document's nodes once; paths met for the first time in it tell their patterns."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Bytes, Ints
from winnow.encoding import EncodedBatch
from winnow.encoding.numbers import parse_number
from winnow.encoding.simd import raw
from winnow.engines.predicates.access import Rows
from winnow.engines.predicates.automaton import FEW, Automata, Scratch, find_tests
from winnow.engines.predicates.lookup import Lookup, first_at_least, text_test
from winnow.engines.predicates.postings import BY_BOUND, BY_NUMBER, BY_TEXT, BY_TRIAL, Posted
from winnow.engines.verification.found import Found
from winnow.patterns.twigs import Tests
from winnow.patterns.value_tests import GE, LE, holds


class Plan(NamedTuple):
    """The index as the walk reads it. Rows are per place, if not said otherwise."""

    pure: Rows  # bare lines that the place has
    pure_pattern: Ints  # per bare line: the pattern that it is
    lines: Rows  # lines that the place has and other patterns wait for
    waiting: Rows  # per line: the patterns that wait for it
    needs: Bytes  # per place: BY_ flags
    hashed: Posted
    tried: Posted
    lower: Posted
    upper: Posted
    lookup: Lookup
    automata: Automata
    scratch: Scratch
    tests: Tests
    has_text: bool


class Stamps(NamedTuple):
    """The number of the last document that met the place, bare line, line of another pattern, or pattern."""

    place: Ints
    pure: Ints
    line: Ints
    pattern: Ints


@kernel
def _room(rows: Ints, used: int, more: int) -> Ints:
    grown = np.empty((2 * (used + more), rows.shape[1]), np.int32)
    grown[:used] = rows[:used]
    return grown


@inlined
def _raw_posted(posted: Posted) -> Posted:
    return Posted(raw(posted.offsets), raw(posted.test), raw(posted.entry))


@kernel
def walk_batch(batch: EncodedBatch, plan: Plan, stamps: Stamps, last_stamp: int) -> Found:
    """What every document of the batch meets. Duplicates cannot arise: a stamp lets each pattern through once."""
    path = raw(batch.path)
    pure_offsets, pure_items = raw(plan.pure.offsets), raw(plan.pure.items)
    line_offsets, line_items = raw(plan.lines.offsets), raw(plan.lines.items)
    waiting_offsets, waiting_items = raw(plan.waiting.offsets), raw(plan.waiting.items)
    pure_pattern = raw(plan.pure_pattern)
    place_stamps, pure_stamps = raw(stamps.place), raw(stamps.pure)
    line_stamps, pattern_stamps = raw(stamps.line), raw(stamps.pattern)
    hashed, tried = _raw_posted(plan.hashed), _raw_posted(plan.tried)
    lower, upper = _raw_posted(plan.lower), _raw_posted(plan.upper)
    needs = raw(plan.needs)
    tests = Tests(
        raw(plan.tests.op), raw(plan.tests.number), raw(plan.tests.start), raw(plan.tests.end), raw(plan.tests.text)
    )
    lookup = Lookup(
        raw(plan.lookup.slots), plan.lookup.mask, plan.lookup.longest, plan.lookup.numbers, plan.lookup.number_tests
    )
    values = raw(batch.values)
    matches = np.empty((1024, 3), np.int32)
    candidates = np.empty((1024, 2), np.int32)
    held, open_ = 0, 0
    searched = 0  # values read by the automata
    for document in range(batch.doc_offsets.size - 1):
        stamp = np.int32(last_stamp + 1 + document)
        last = batch.doc_offsets[document + 1]
        text_shift = batch.text_offsets[document] - last if plan.has_text else 0
        end = batch.text_offsets[document + 1] - text_shift if plan.has_text else last
        for item in range(batch.doc_offsets[document], end):
            if item < last:
                node = item
                place = 2 * path[node]
            else:
                node = batch.text_parent[item + text_shift]
                place = 2 * path[node] + 1
            if place_stamps[place] != stamp:
                place_stamps[place] = stamp
                begin, stop = pure_offsets[place], pure_offsets[place + 1]
                if held + stop - begin > matches.shape[0]:
                    matches = _room(matches, held, stop - begin)
                for k in range(begin, stop):
                    line = pure_items[k]
                    if pure_stamps[line] != stamp:
                        pure_stamps[line] = stamp
                        matches[held, 0] = document
                        matches[held, 1] = pure_pattern[line]
                        matches[held, 2] = node
                        held += 1
                for k in range(line_offsets[place], line_offsets[place + 1]):
                    line = line_items[k]
                    if line_stamps[line] == stamp:
                        continue
                    line_stamps[line] = stamp
                    begin, stop = waiting_offsets[line], waiting_offsets[line + 1]
                    if open_ + stop - begin > candidates.shape[0]:
                        candidates = _room(candidates, open_, stop - begin)
                    for j in range(begin, stop):
                        pattern = waiting_items[j]
                        if pattern_stamps[pattern] != stamp:
                            pattern_stamps[pattern] = stamp
                            candidates[open_, 0] = document
                            candidates[open_, 1] = pattern
                            open_ += 1
            need = needs[place]
            if need == 0:
                continue
            if item < last:
                start, stop = batch.value_start[node], batch.value_end[node]
            else:
                start, stop = batch.text_start[item + text_shift], batch.text_end[item + text_shift]
            number = np.nan
            if need & (BY_NUMBER | BY_BOUND):
                number = parse_number(values, start, stop)
            for source in range(5):
                posted = hashed
                wanted = -1
                rounds, is_trial = 1, False
                if source == 0:
                    if need & BY_TEXT:
                        wanted = text_test(lookup, tests, values, start, stop)
                elif source == 1:
                    if need & BY_NUMBER and number == number:  # noqa: PLR0124 - not NaN
                        at = np.searchsorted(lookup.numbers, number)
                        if at < lookup.numbers.size and lookup.numbers[at] == number:
                            wanted = lookup.number_tests[at]
                elif source == 2:
                    if need & BY_TRIAL == 0:
                        continue
                    posted = tried
                    is_trial = tried.offsets[place + 1] - tried.offsets[place] <= FEW
                    if not is_trial:
                        searched += 1
                        rounds = find_tests(plan.automata, values, (start, stop), plan.scratch, searched)
                else:
                    if need & BY_BOUND == 0 or number != number:  # noqa: PLR0124 - NaN
                        continue
                    posted = lower if source == 3 else upper
                if source < 2 and wanted < 0:
                    continue
                for turn in range(rounds):
                    is_searched = source < 2 or (source == 2 and not is_trial)
                    if source == 2 and not is_trial:
                        wanted = plan.scratch.hits[turn]
                    begin, row_end = posted.offsets[place], posted.offsets[place + 1]
                    if is_searched:
                        begin = first_at_least(posted.test, begin, row_end, wanted)
                    if held + row_end - begin > matches.shape[0]:
                        matches = _room(matches, held, row_end - begin)
                    if open_ + row_end - begin > candidates.shape[0]:
                        candidates = _room(candidates, open_, row_end - begin)
                    last_tried, passes = -1, True
                    for k in range(begin, row_end):
                        test = posted.test[k]
                        if is_searched:
                            if test != wanted:
                                break
                        elif source == 2:
                            if test != last_tried:
                                passes = holds(tests, test, values, start, stop)
                                last_tried = test
                            if not passes:
                                continue
                        elif source == 3:
                            bound = tests.number[test]
                            if bound > number:
                                break
                            if bound == number and tests.op[test] != GE:
                                continue
                        else:
                            bound = tests.number[test]
                            if bound < number:
                                break
                            if bound == number and tests.op[test] != LE:
                                continue
                        pattern = posted.entry[k] >> 1
                        if pattern_stamps[pattern] == stamp:
                            continue
                        pattern_stamps[pattern] = stamp
                        if posted.entry[k] & 1:
                            matches[held, 0] = document
                            matches[held, 1] = pattern
                            matches[held, 2] = node
                            held += 1
                        else:
                            candidates[open_, 0] = document
                            candidates[open_, 1] = pattern
                            open_ += 1
    return Found(matches[:held], candidates[:open_])
