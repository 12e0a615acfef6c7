"""Distinct runs of integers with ids in order of arrival, as flat arrays."""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Ints, Longs
from winnow.patterns.intern import Interned, intern_runs, rehash


class RunTable:
    """
    >>> table = RunTable()
    >>> table.add(np.array([1, 2, 3, 1, 2], np.int32), np.array([0, 2, 3, 5])).tolist(), len(table)
    ([0, 1, 0], 2)
    """

    def __init__(self) -> None:
        self._pool, self._offsets = Column(np.int32), Column(np.int64)
        self._offsets.resize(1, 0)
        self._slots: Ints = np.zeros(1024, np.int32)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @property
    def pool(self) -> Ints:
        return self._pool.view

    @property
    def offsets(self) -> Longs:
        return self._offsets.view

    def add(self, runs: Ints, ends: Longs) -> Ints:
        """The ids of the runs `runs[ends[k]:ends[k + 1]]`; those from the earlier `len` on are new."""
        known, used, count = len(self), len(self._pool), ends.size - 1
        pool = self._pool.reserve(used + runs.size + 1)
        offsets = self._offsets.reserve(known + count + 2)
        if 2 * (known + count) > self._slots.size:
            self._slots = np.zeros(1 << (4 * (known + count)).bit_length(), np.int32)
            rehash(pool, offsets, known, self._slots)
        state = np.array([known, used], np.int64)
        ids = np.empty(count, np.int32)
        intern_runs(runs, ends, Interned(pool, offsets, self._slots, state), ids)
        self._offsets.take(int(state[0]) + 1)
        self._pool.take(int(state[1]))
        return ids
