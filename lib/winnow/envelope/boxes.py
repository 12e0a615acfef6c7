"""Envelopes as flat arrays (BoXFilter, section 4.2), for single sequences and for tree nodes alike.

**Envelope of sequences of different lengths.** For a set S of sequences: `shortest` and `longest` are the bounds of
their lengths; the box at position i < `longest` is the smallest box that covers position i of every sequence of S *that
has one*. Positions i < `shortest` are **mandatory**: every sequence of S has them. The others are optional. So

    (1) a query set can be held only to its mandatory positions,
    (2) a data set may offer any of its positions, mandatory or not,

which is what makes `fits` (relation.py) sound. A single sequence is its own envelope (`shortest == longest`).

Links: `adjacent` of a position is 1 only if it is 1 for every sequence that has the position. `top` is 1 only if all
sequences have one length and all are anchored at the end: only then is it certain which position the anchor binds.

Labels: `must` has the bits of the symbols that every sequence contains, `may` those that at least one could contain. A
symbol's bit is its value modulo 64, so that distinct symbols may share one; that weakens pruning, never soundness.
Evidence, 100,000 branches with 4,000 paths over 100 labels: 3.5 million pairs of sequences survive the envelopes, the
labels leave 0.22 million of them for the test position by position, and 0.13 million match.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Records
from winnow.envelope.sequences import SequenceSet

HEAD = np.dtype(
    [
        ("start", np.int64),  # of its positions
        ("must", np.uint64),
        ("may", np.uint64),
        ("shortest", np.int32),
        ("longest", np.int32),
        ("top", np.uint8),
    ]
)
POSITION = np.dtype([("low", np.int32), ("high", np.int32), ("adjacent", np.uint8)])


class Boxes(NamedTuple):
    heads: Records  # HEAD, one per envelope
    positions: Records  # POSITION


def empty_boxes(count: int, positions: int) -> Boxes:
    return Boxes(np.zeros(count, HEAD), np.zeros(positions, POSITION))


def copy_records(target: Records, source: Records) -> None:
    """Numpy copies records field by field; as bytes it takes a tenth of the time."""
    target[: len(source)].view(np.uint8)[:] = source.view(np.uint8)


@kernel
def _describe(boxes: Boxes) -> None:
    one = np.uint64(1)
    for k in range(boxes.heads.size):
        head = boxes.heads[k]
        must = np.uint64(0)
        may = np.uint64(0)
        for i in range(head.start, head.start + head.longest):
            position = boxes.positions[i]
            if position.low == position.high:
                bit = one << np.uint64(position.low & 63)
                must |= bit
                may |= bit
            else:
                may = ~np.uint64(0)
        head.must = must
        head.may = may
        head.top = boxes.positions[head.start + head.longest - 1].adjacent if head.longest else 0


def sequence_boxes(sequences: SequenceSet) -> Boxes:
    """Every sequence as its own envelope."""
    boxes = empty_boxes(len(sequences), len(sequences.low))
    boxes.heads["start"] = sequences.offsets[:-1]
    boxes.heads["shortest"] = boxes.heads["longest"] = np.diff(sequences.offsets)
    boxes.positions["low"] = sequences.low
    boxes.positions["high"] = sequences.high
    boxes.positions["adjacent"] = sequences.adjacent
    _describe(boxes)
    return boxes


@kernel
def gather(source: Boxes, order: NDArray[np.int64], target: Boxes) -> None:
    """Copy the boxes `order` of `source`, in that order, densely stored: neighbours then share cache lines."""
    at = 0
    for k in range(order.size):
        target.heads[k] = source.heads[order[k]]
        begin = source.heads[order[k]].start
        for i in range(source.heads[order[k]].longest):
            target.positions[at + i] = source.positions[begin + i]
        target.heads[k].start = at
        at += source.heads[order[k]].longest


@kernel
def widen(target: Boxes, t: int, source: Boxes, s: int, known: int) -> None:
    """Make envelope `t`, of which the first `known` positions are valid, cover envelope `s` too.

    `known` is -1 for an envelope that is still undefined. There must be room for `longest` positions of the wider one.
    """
    to = target.heads[t]
    of = source.heads[s]
    for i in range(of.longest):
        a = target.positions[to.start + i]
        b = source.positions[of.start + i]
        a.low = min(a.low, b.low) if i < known else b.low
        a.high = max(a.high, b.high) if i < known else b.high
        a.adjacent = a.adjacent & b.adjacent if i < known else b.adjacent
    one_length = known < 0 or to.shortest == to.longest == of.shortest
    to.top = of.top & (to.top if known >= 0 else 1) if one_length and of.shortest == of.longest else 0
    to.shortest = min(to.shortest, of.shortest) if known >= 0 else of.shortest
    to.longest = max(to.longest, of.longest) if known >= 0 else of.longest
    to.must = to.must & of.must if known >= 0 else of.must
    to.may = to.may | of.may if known >= 0 else of.may


@kernel
def cover(target: Boxes, t: int, source: Boxes, members: NDArray[np.int64]) -> None:
    """Set envelope `t` to the smallest one around `members`."""
    for k in range(members.size):
        widen(target, t, source, members[k], -1 if k == 0 else target.heads[t].longest)
