"""The branches of stored patterns: distinct lines, their codes, and how people read them."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding import Vocabulary
from winnow.engines.boxpath.line_index import line_sequences
from winnow.envelope import SequenceSet
from winnow.index.codes import line_codes, mix, text_codes
from winnow.index.patterns import add_rows
from winnow.patterns.intern import select_runs
from winnow.patterns.lines import lines_of
from winnow.patterns.runs import RunTable
from winnow.patterns.store import PatternStore
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT


class Branches(NamedTuple):
    """Distinct branches, `steps[ends[k]:ends[k + 1]]` with code `codes[k]`."""

    steps: Ints
    ends: Longs
    codes: Longs

    def __len__(self) -> int:
        return self.codes.size

    def take(self, chosen: Longs) -> "Branches":
        return Branches(*select_runs(self.steps, self.ends, chosen), self.codes[chosen])

    def sequences(self) -> SequenceSet:
        table = RunTable()
        table.add(self.steps, self.ends)
        return line_sequences(table, 0)

    def texts(self, vocabulary: Vocabulary) -> list[str]:
        """
        >>> words = Vocabulary([(0, "text()"), (1, "a"), (2, "@b")])
        >>> Branches(np.array([-4, 3], np.int32), np.array([0, 2]), np.zeros(1, np.int64)).texts(words)
        ['//a/@b']
        """
        labels = {0: "text()", ANY_ELEMENT: "*", ANY_ATTRIBUTE: "@*"}
        labels |= {s if not label.startswith("@") else -s: label for s, label in vocabulary.rows(start=1)}
        written = [("//" if step & 1 else "/") + labels[step >> 1] for step in self.steps.tolist()]
        pairs = zip(self.ends[:-1].tolist(), self.ends[1:].tolist(), strict=True)
        return ["".join(reversed(written[start:end])) for start, end in pairs]


def branches_of(patterns: pa.Table, vocabulary: Vocabulary) -> Branches:
    """The distinct branches of these patterns; their labels must be in the vocabulary already."""
    store = PatternStore(vocabulary)
    store.add_stream(*add_rows(store, patterns))
    lines = lines_of(store.twigs, 0, len(store), store.height)
    table = RunTable()
    table.add(lines.steps, lines.ends)
    steps, ends = table.pool.copy(), table.offsets.copy()
    return Branches(steps, ends, line_codes(steps, ends, text_codes(vocabulary.labels())))


def stored_branches(rows: pa.Table) -> Branches:
    """From the table `branches`, by number."""
    rows = rows.sort_by("branch")
    column = rows.column("steps").combine_chunks()
    steps = np.ascontiguousarray(column.flatten().to_numpy(zero_copy_only=False), np.int32)
    ends = np.concatenate([[0], np.cumsum(column.value_lengths().to_numpy(zero_copy_only=False))]).astype(np.int64)
    return Branches(steps, ends, rows.column("branch_id").to_numpy().astype(np.int64))


def find(codes: Longs, wanted: Longs) -> Longs:
    """The position of each wanted code among `codes`, which are distinct; -1 where it is not.

    >>> find(np.array([30, 10, 20]), np.array([20, 5, 30])).tolist()
    [2, -1, 0]
    """
    return _find(np.asarray(codes, np.int64), np.asarray(wanted, np.int64))


@kernel
def _find(codes: Longs, wanted: Longs) -> Longs:
    """By a table of slots, at most half of them taken; who comes late takes the next free one."""
    slots = np.full(1 << int(np.ceil(np.log2(2 * codes.size + 2))), -1, np.int64)
    last = slots.size - 1
    for number in range(codes.size):
        slot = mix(0, codes[number]) & last
        while slots[slot] >= 0:
            slot = (slot + 1) & last
        slots[slot] = number
    found = np.empty(wanted.size, np.int64)
    for k in range(wanted.size):
        slot = mix(0, wanted[k]) & last
        while slots[slot] >= 0 and codes[slots[slot]] != wanted[k]:
            slot = (slot + 1) & last
        found[k] = slots[slot]
    return found
