"""Algorithm 4 on a packed tree, below a lowest node of the data tree: RSearch for up to 64 sequences at a time.

What is known of a set of sequences is a word with a bit for each. `any` and `must` of a node, and the labels of a row,
are operations on such words, exact for every sequence; only where a sequence has all labels of a row is their order
looked at. Rows that share a prefix share its word.
"""

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints
from winnow.encoding.simd import bit_count, lowest_bit, raw
from winnow.envelope.occurrences import Occurrences, has_any, next_occurrence
from winnow.envelope.packed_search import Scratch
from winnow.envelope.packed_tree import MUST, PackedTree
from winnow.envelope.walk import CANDIDATES, LEAF_PAIRS, NODE_PAIRS


@kernel
def search_group(tree: PackedTree, given: Occurrences, tops: Ints, scratch: Scratch) -> int:
    """Write the rows below the nodes `tops` that lie in some of the sequences that are noted; their number."""
    level, first, counts = raw(tree.level), raw(tree.first), raw(tree.counts)
    low, high, must = raw(tree.low), raw(tree.high), raw(tree.must)
    starts, columns, shared, skip = raw(tree.starts), raw(tree.columns), raw(tree.shared), raw(tree.skip)
    has, union, slot, bits = raw(given.has), raw(given.union), raw(given.slot), raw(given.bits)
    base, words, shift, width = raw(given.base), raw(given.words), raw(given.shift), given.columns
    stack, masks, prefix = raw(scratch.stack), raw(scratch.masks), raw(scratch.prefix)
    found, met, read = raw(scratch.found), raw(scratch.met), raw(scratch.read)
    node_pairs, leaf_pairs, compared, hits = 0, 0, 0, 0
    everyone = has[0]
    one = np.int64(1)
    for top in tops:
        depth = 0
        begin, stop, mask = int(top), int(top) + 1, everyone
        while True:
            node_pairs += stop - begin
            for node in range(begin, stop):
                if not has_any(union, low[node], high[node]):
                    continue
                some = np.int64(0)
                for column in range(low[node], high[node] + 1):
                    some |= has[column]
                    if some == everyone:
                        break
                some &= mask
                for k in range(MUST * node, MUST * node + MUST):
                    if must[k] >= 0:
                        some &= has[must[k]]
                if some != 0:
                    stack[depth], masks[depth] = node, some
                    depth += 1
            while depth and level[stack[depth - 1]] == 1:
                depth -= 1
                node = stack[depth]
                read[node] = 1
                leaf_pairs += counts[node] * bit_count(masks[depth])
                r, end = int(first[node]), int(first[node] + counts[node])
                while r < end:
                    start = starts[r]
                    size = starts[r + 1] - start
                    i = int(shared[r])
                    some = prefix[i - 1] if i else masks[depth]
                    while i < size:
                        some &= has[columns[start + i]]
                        if some == 0:
                            break
                        prefix[i] = some
                        i += 1
                    r += 1
                    if some == 0:
                        while r < end and shared[r] > i:
                            r = int(skip[r])
                        continue
                    compared += bit_count(some)
                    holding = np.int64(0)
                    while some != 0:
                        g = lowest_bit(some)
                        some &= some - 1
                        step = 1 if shift[g] == 0 else 0
                        at = 0
                        k = start + 1  # the access position takes no room
                        while k < start + size and at >= 0:
                            row = base[g] + slot[g * width + columns[k]] * words[g]
                            at = next_occurrence(bits, row, words[g], at)
                            at = at + step if at >= 0 else at
                            k += 1
                        if at >= 0:
                            holding |= one << g
                    if holding != 0:
                        found[hits], met[hits] = r - 1, holding
                        hits += 1
            if depth == 0:
                break
            depth -= 1
            mask = masks[depth]
            read[stack[depth]] = 1
            begin = int(first[stack[depth]])
            stop = begin + int(counts[stack[depth]])
    scratch.tally[NODE_PAIRS] += node_pairs
    scratch.tally[LEAF_PAIRS] += leaf_pairs
    scratch.tally[CANDIDATES] += compared
    return hits
