"""Conditions: what a document must meet, line by line, for a pattern to be worth a look.

A condition is a line, or a line whose end passes a test. All engines that read a document node by node report the
conditions it meets; here they become matches and candidates. A pattern that is one line, with at most one test at its
end, is decided by its only condition; every other pattern waits for one of its conditions and is a candidate when the
document has met all of them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.types import Floats, Ints, Longs
from winnow.engines.predicates.access import Rows
from winnow.engines.verification.found import Found
from winnow.patterns.intern import select_runs
from winnow.patterns.lines import LEAF, Lines


class Asked(NamedTuple):
    """Row k asks for line `steps[ends[k]:ends[k + 1]]`, lower end first, and, but for `LEAF`, for a test at its end."""

    steps: Ints
    ends: Longs
    test: Ints
    owner: Ints  # ascending


class Awaited(NamedTuple):
    """What the live patterns wait for."""

    decided: Ints  # per condition: the pattern that it decides, or -1
    waiting: Rows  # per condition: patterns
    required: Rows  # per pattern: conditions
    always: Ints  # patterns without conditions


def asked_by(lines: Lines) -> Asked:
    """The rows of `lines` without those that another row implies: a test at a leaf says that the leaf is there."""
    length = np.diff(lines.ends)
    is_implied = np.zeros(lines.test.size, np.bool_)
    # The tests of a leaf directly precede it, and nothing else of the same pattern and length does.
    is_implied[1:] = (
        (lines.test[1:] == LEAF)
        & (lines.test[:-1] != LEAF)
        & (lines.owner[1:] == lines.owner[:-1])
        & (length[1:] == length[:-1])
    )
    kept = np.flatnonzero(~is_implied)
    return Asked(*select_runs(lines.steps, lines.ends, kept), lines.test[kept], lines.owner[kept])


class Conditions:
    """Patterns and their conditions. Ids of conditions are the engine's."""

    def __init__(self) -> None:
        self._required, self._offsets = Column(np.int32), Column(np.int64)
        self._offsets.resize(1, 0)
        self._access = Column(np.int32)  # per pattern: the condition that it waits for or is decided by, or -1
        self._is_decided = Column(np.bool_)
        self.count = 0

    @property
    def nbytes(self) -> int:
        columns = (self._required, self._offsets, self._access, self._is_decided)
        return sum(int(column.view.nbytes) for column in columns)

    def add(self, asked: Asked, conditions: Ints, new: range, is_decided: npt.NDArray[np.bool_], often: Floats) -> None:
        """Patterns `new` and the condition of each row that they ask for; `often` says how often it is met."""
        self.count = max(self.count, int(conditions.max(initial=-1)) + 1)
        owner = asked.owner - new.start
        counts = np.bincount(owner, minlength=len(new))
        self._offsets.extend(len(self._required) + np.cumsum(counts))
        self._required.extend(conditions)
        # What is met equally often: a long line rules out more than a short one.
        by_owner = np.lexsort((-np.diff(asked.ends), often, owner))
        access = np.full(len(new), -1, np.int32)
        has_any = counts > 0
        access[has_any] = conditions[by_owner[(np.cumsum(counts) - counts)[has_any]]]
        self._access.extend(access)
        self._is_decided.extend(is_decided)

    def awaited(self, live: npt.NDArray[np.bool_]) -> Awaited:
        access, is_decided = self._access.view, self._is_decided.view
        decided = np.full(self.count, -1, np.int32)
        wanted = np.flatnonzero(live & is_decided).astype(np.int32)
        decided[access[wanted]] = wanted
        patterns = np.flatnonzero(live & ~is_decided & (access >= 0)).astype(np.int32)
        offsets = np.zeros(self.count + 1, np.int64)
        np.cumsum(np.bincount(access[patterns], minlength=self.count), out=offsets[1:])
        patterns = patterns[np.argsort(access[patterns], kind="stable")]
        always = np.flatnonzero(live & (access < 0)).astype(np.int32)
        return Awaited(decided, Rows(offsets, patterns), Rows(self._offsets.view, self._required.view), always)


@kernel
def _room(rows: Ints, used: int, more: int) -> Ints:
    if used + more <= rows.shape[0]:
        return rows
    grown = np.empty((2 * (used + more), rows.shape[1]), np.int32)
    grown[:used] = rows[:used]
    return grown


@kernel
def complete(met: Ints, doc_offsets: Longs, awaited: Awaited, stamps: Ints, last_stamp: int) -> Found:
    """Rows (document, condition, node), each pair once and ascending by document, to matches and candidates.

    Duplicates cannot arise: a pattern waits for one condition. `doc_offsets` says which documents have any node.
    `stamps` are those of conditions, one for each document after `last_stamp`.
    """
    decided, waiting, required, always = awaited
    matches, candidates = np.empty((1024, 3), np.int32), np.empty((1024, 2), np.int32)
    held, open_, start = 0, 0, 0
    for document in range(doc_offsets.size - 1):
        if doc_offsets[document] == doc_offsets[document + 1]:
            continue
        stamp = np.int32(last_stamp + 1 + document)
        stop = start
        while stop < met.shape[0] and met[stop, 0] == document:
            stamps[met[stop, 1]] = stamp
            stop += 1
        matches = _room(matches, held, stop - start)
        candidates = _room(candidates, open_, always.size)
        for k in range(always.size):
            candidates[open_, 0] = document
            candidates[open_, 1] = always[k]
            open_ += 1
        for k in range(start, stop):
            condition = met[k, 1]
            if decided[condition] >= 0:
                matches[held, 0] = document
                matches[held, 1] = decided[condition]
                matches[held, 2] = met[k, 2]
                held += 1
            first, last = waiting.offsets[condition], waiting.offsets[condition + 1]
            candidates = _room(candidates, open_, last - first)
            for i in range(first, last):
                pattern = waiting.items[i]
                is_complete = True
                for j in range(required.offsets[pattern], required.offsets[pattern + 1]):
                    is_complete = is_complete and stamps[required.items[j]] == stamp
                if is_complete:
                    candidates[open_, 0] = document
                    candidates[open_, 1] = pattern
                    open_ += 1
        start = stop
    return Found(matches[:held], candidates[:open_])
