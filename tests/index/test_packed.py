"""Packed runs come back as they were, whatever is in them and however Arrow cuts them."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.index.packed import pack, unpack

NUMBERS = st.integers(-(2**31), 2**31 - 1) | st.integers(0, 300)
RUNS = st.lists(st.lists(NUMBERS, max_size=8), max_size=8)


def packed(runs: list[list[int]]) -> pa.BinaryArray:
    ends = np.cumsum([0, *map(len, runs)])
    return pack(np.array([number for run in runs for number in run], np.int32), ends)


def unpacked(array: pa.BinaryArray) -> list[list[int]]:
    numbers, ends = unpack(array)
    return [numbers[start:end].tolist() for start, end in pairwise(ends.tolist())]


@given(RUNS)
def test_runs_come_back(runs: list[list[int]]) -> None:
    assert unpacked(packed(runs)) == runs


@given(RUNS, st.data())
def test_slices_and_choices_come_back(runs: list[list[int]], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(runs)))
    chosen = data.draw(st.lists(st.sampled_from(range(len(runs))), max_size=5)) if runs else []
    assert unpacked(packed(runs).slice(start)) == runs[start:]
    assert unpacked(packed(runs).take(pa.array(chosen, pa.int64()))) == [runs[k] for k in chosen]
