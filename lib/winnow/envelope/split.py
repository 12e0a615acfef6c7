"""Distribution of members over two nodes, as the R*-tree does it (section 4.3, "Envelope Insertion")."""

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes, widen
from winnow.envelope.cost import margin, overlap

MAX_AXES = 16  # positions that are tried; later ones are rarely mandatory


@kernel
def _sorted_by(source: Boxes, members: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
    """By length for axis -1, else by the interval at that position; those without it come first."""
    keys = np.empty(members.size, np.float64)
    order = np.empty_like(members)
    for k in range(members.size):
        head = source.heads[members[k]]
        key = -np.inf
        if axis < 0:
            key = float(head.shortest + head.longest)
        elif axis < head.longest:
            position = source.positions[head.start + axis]
            key = float(position.low) + float(position.high)
        at = k
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            order[at] = order[at - 1]
            at -= 1
        keys[at] = key
        order[at] = members[k]
    return order


@kernel
def _scratch(source: Boxes, members: NDArray[np.int64], count: int) -> Boxes:
    longest = 0
    for k in range(members.size):
        longest = max(longest, source.heads[members[k]].longest)
    heads = np.zeros(count, source.heads.dtype)
    for k in range(count):
        heads[k].start = k * longest
    positions = np.zeros(count * longest, source.positions.dtype)
    return Boxes(heads, positions)


@kernel
def distribute(source: Boxes, members: NDArray[np.int64], min_fanout: int) -> tuple[NDArray[np.int64], int]:
    """The members in the order of the best axis, and how many of them go to the first node.

    Axis: the one whose distributions have the smallest margins in sum. Distribution along it: the least overlap of the
    two envelopes, then the smallest margins.
    """
    size = members.size
    work = _scratch(source, members, size + 1)
    longest = work.positions.size // (size + 1)
    margins = np.empty(size + 1)
    best_order = members
    best_sum = np.inf
    for axis in range(-1, min(longest, MAX_AXES)):
        order = _sorted_by(source, members, axis)
        total = 0.0
        for k in range(size - min_fanout):
            widen(work, 0, source, order[k], -1 if k == 0 else work.heads[0].longest)
            if k + 1 >= min_fanout:
                total += margin(work, 0)
        for k in range(size - 1, min_fanout - 1, -1):
            widen(work, 0, source, order[k], -1 if k == size - 1 else work.heads[0].longest)
            if size - k >= min_fanout:
                total += margin(work, 0)
        if total < best_sum:
            best_sum = total
            best_order = order
    for k in range(size - min_fanout):
        if k:
            widen(work, k, work, k - 1, -1)
        widen(work, k, source, best_order[k], -1 if k == 0 else work.heads[k].longest)
        margins[k + 1] = margin(work, k)
    best = min_fanout
    least_overlap = least_margin = np.inf
    for k in range(size - 1, min_fanout - 1, -1):
        widen(work, size, source, best_order[k], -1 if k == size - 1 else work.heads[size].longest)
        if size - k >= min_fanout:
            shared = overlap(work, k - 1, size)
            both = margins[k] + margin(work, size)
            if shared < least_overlap or (shared == least_overlap and both < least_margin):
                least_overlap = shared
                least_margin = both
                best = k
    return best_order, best
