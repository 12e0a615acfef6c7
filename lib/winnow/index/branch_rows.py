"""Branches as rows: self-contained, and read back without a Python object for any of them.

`steps` are those of `winnow.patterns.lines`, with the numbers of the row's own `labels` in place of symbols: label k is
k + 1, negative for an attribute. Text nodes (0) and wildcards stay as they are. So a row means the same whatever
vocabulary it meets.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding import Vocabulary
from winnow.index.lines import Branches
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT


class LabelledSteps(NamedTuple):
    """Branch k: `steps[ends[k]:ends[k + 1]]`, which name `labels[label_ends[k]:label_ends[k + 1]]` by number."""

    steps: Ints
    ends: Longs
    labels: Ints  # symbols of a vocabulary
    label_ends: Longs


def write_branches(branches: Branches, vocabulary: Vocabulary) -> pa.Table:
    """Returns branch_id, line, steps and labels: one row for each, in order."""
    own = _with_local_numbers(branches.steps, branches.ends)
    labels = pa.array(vocabulary.labels(), pa.string()).take(pa.array(own.labels))
    return pa.table(
        {
            "branch_id": pa.array(branches.codes, pa.int64()),
            "line": pa.array(branches.texts(vocabulary), pa.string()),
            "steps": pa.ListArray.from_arrays(pa.array(own.ends.astype(np.int32)), pa.array(own.steps)),
            "labels": pa.ListArray.from_arrays(pa.array(own.label_ends.astype(np.int32)), labels),
        }
    )


def bind_branches(rows: pa.Table, vocabulary: Vocabulary) -> Branches:
    """Returns the branches of rows of the table `branches`, in order; labels that are new join the vocabulary."""
    steps, labels = _whole(rows, "steps"), _whole(rows, "labels")
    distinct = labels.flatten().dictionary_encode()
    symbols = np.array([vocabulary.add(label) for label in distinct.dictionary.to_pylist()], np.int32)
    own = LabelledSteps(
        np.ascontiguousarray(steps.flatten().to_numpy(zero_copy_only=False), np.int32),
        _ends(steps),
        symbols[distinct.indices.to_numpy(zero_copy_only=False)],
        _ends(labels),
    )
    codes = np.ascontiguousarray(rows.column("branch_id").to_numpy(), np.int64)
    return Branches(_with_symbols(own), own.ends, codes)


def _whole(rows: pa.Table, name: str) -> pa.ListArray:
    chunks = rows.column(name).chunks
    return pa.concat_arrays(chunks) if chunks else pa.array([], rows.schema.field(name).type)


def _ends(lists: pa.ListArray) -> Longs:
    """From 0, whatever part of its values a list array is."""
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@kernel
def _with_local_numbers(steps: Ints, ends: Longs) -> LabelledSteps:
    """Labels are numbered in the order of the steps that name them first."""
    out = steps.copy()
    labels = np.empty(steps.size, np.int32)
    label_ends = np.zeros(ends.size, np.int64)
    used = 0
    for k in range(ends.size - 1):
        for i in range(ends[k], ends[k + 1]):
            symbol = steps[i] >> 1
            if symbol not in (0, ANY_ELEMENT, ANY_ATTRIBUTE):
                place = label_ends[k]
                while place < used and labels[place] != abs(symbol):
                    place += 1
                if place == used:
                    labels[used] = abs(symbol)
                    used += 1
                number = place - label_ends[k] + 1
                out[i] = 2 * (number if symbol > 0 else -number) + (steps[i] & 1)
        label_ends[k + 1] = used
    return LabelledSteps(out, ends, labels[:used].copy(), label_ends)


@kernel
def _with_symbols(own: LabelledSteps) -> Ints:
    """The inverse of `_with_local_numbers`."""
    steps, ends, labels, label_ends = own
    out = steps.copy()
    for k in range(ends.size - 1):
        for i in range(ends[k], ends[k + 1]):
            number = steps[i] >> 1
            if number not in (0, ANY_ELEMENT, ANY_ATTRIBUTE):
                symbol = labels[label_ends[k] + abs(number) - 1]
                out[i] = 2 * (symbol if number > 0 else -symbol) + (steps[i] & 1)
    return out
