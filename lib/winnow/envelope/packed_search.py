"""Algorithm 3 on a packed tree: the rows that lie in one data sequence (BoXFilter, section 4.4, sequential mode)."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Ints, Longs
from winnow.encoding.simd import raw
from winnow.envelope.occurrences import Occurrences, Sequences, has_any, next_occurrence
from winnow.envelope.packed_tree import ANY_COLUMN, ANY_NEGATIVE_COLUMN, MUST, PackedTree
from winnow.envelope.walk import CANDIDATES, LEAF_PAIRS, NODE_PAIRS


class Scratch(NamedTuple):
    """What a search writes to: `found` are rows of the tree, `met` the sequences that they lie in, as bits."""

    stack: Ints
    masks: Longs  # per node of the stack, the sequences that it may concern
    prefix: Longs  # per length of a prefix: its end in the sequence, or the sequences that have its columns
    found: Ints
    met: Longs
    tally: Longs
    read: Bytes  # per node, 1 if its members were looked at


def new_scratch(tree: PackedTree) -> Scratch:
    deepest = (tree.height + 1) * (int(tree.counts.max(initial=0)) + 1)
    return Scratch(
        stack=np.empty(deepest, np.int32),
        masks=np.empty(deepest, np.int64),
        prefix=np.zeros(tree.longest + 2, np.int64),
        found=np.empty(tree.ids.size, np.int32),
        met=np.empty(tree.ids.size, np.int64),
        tally=np.zeros(3, np.int64),
        read=np.zeros(tree.level.size, np.uint8),
    )


@kernel
def search_packed(tree: PackedTree, given: Occurrences, data: Sequences, d: int, scratch: Scratch) -> int:
    """Write the rows that lie in sequence `d`, the only one that is noted; their number."""
    level, first, counts = raw(tree.level), raw(tree.first), raw(tree.counts)
    low, high, must = raw(tree.low), raw(tree.high), raw(tree.must)
    bounds, bound_low, bound_high = raw(tree.bounds), raw(tree.bound_low), raw(tree.bound_high)
    starts, columns, shared, skip = raw(tree.starts), raw(tree.columns), raw(tree.shared), raw(tree.skip)
    slot, bits, union, words = raw(given.slot), raw(given.bits), raw(given.union), given.words[0]
    symbols, begin, end = raw(data.symbols), data.offsets[d], data.offsets[d + 1]
    stack, reach, found, met = raw(scratch.stack), raw(scratch.prefix), raw(scratch.found), raw(scratch.met)
    read = raw(scratch.read)
    is_exact = given.shift[0] == 0
    step = 1 if is_exact else 0
    node_pairs, leaf_pairs, compared, hits = 1, 0, 0, 0
    stack[0] = 0
    depth = 1 if counts[0] else 0
    reach[0] = reach[1] = 0  # the access position takes no room
    while depth:
        depth -= 1
        node = stack[depth]
        # `any` and `must` were tested before the node came on the stack. Its envelope is next: a position in which all
        # rows below have one label is looked up; elsewhere the first symbol within the bounds is looked for.
        at = 0
        i, stop = bounds[node], bounds[node + 1]
        while i < stop and at >= 0:
            least, most = bound_low[i], bound_high[i]
            row = slot[abs(least)] if least == most else ANY_COLUMN if least >= 0 else ANY_NEGATIVE_COLUMN
            if row < 0:
                at = -1
            elif least >= 0 or most < 0:
                at = next_occurrence(bits, row * words, words, at)
            if is_exact and least != most and at >= 0:
                while at < end - begin and not least <= symbols[begin + at] <= most:
                    at += 1
                at = at if at < end - begin else -1
            at = at + step if at >= 0 else at
            i += 1
        if at < 0:
            continue
        read[node] = 1
        if level[node] > 1:
            node_pairs += counts[node]
            for child in range(first[node], first[node] + counts[node]):
                if has_any(union, low[child], high[child]):
                    is_open = True
                    for k in range(MUST * child, MUST * child + MUST):
                        is_open = is_open and (must[k] < 0 or slot[must[k]] >= 0)
                    if is_open:
                        stack[depth] = child
                        depth += 1
            continue
        leaf_pairs += counts[node]
        r, stop = int(first[node]), int(first[node] + counts[node])
        while r < stop:
            compared += 1
            start = starts[r]
            size = starts[r + 1] - start
            i = int(shared[r])
            if i == 0 and slot[columns[start]] >= 0:
                i += 1
            if i:
                at = int(reach[i])
                while i < size:
                    row = slot[columns[start + i]]
                    if row < 0:
                        break
                    at = next_occurrence(bits, row * words, words, at)
                    if at < 0:
                        break
                    at += step
                    i += 1
                    reach[i] = at
            if i == size:
                found[hits], met[hits] = r, 1
                hits += 1
                r += 1
            else:
                r += 1
                while r < stop and shared[r] > i:
                    r = int(skip[r])
    scratch.tally[NODE_PAIRS] += node_pairs
    scratch.tally[LEAF_PAIRS] += leaf_pairs
    scratch.tally[CANDIDATES] += compared
    return hits
