"""WFilter's predicate vector (Martins and Pereira, §4.2 to §4.5): per predicate the positions of a path that meet it.

Bit n - 1 stands for level n. A path of at most 64 levels needs one word for each predicate, as in the paper; a deeper
one needs more, and each operation then goes over all of them.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding.simd import lowest_bit, raw
from winnow.engines.automata.reading import more_rows
from winnow.engines.wfilter.clusters import Clusters
from winnow.engines.wfilter.expressions import BELOW, CHILD, OP_BITS, START

_OP = (1 << OP_BITS) - 1
TESTED, OPERATIONS, EVENTS, VALUES, COUNTS = range(5)


class Vectors(NamedTuple):
    words: Longs  # word w of a predicate is at `w * predicates + predicate`; all 0 between calls
    predicates: int
    met: Ints  # per predicate: how many of its bits are set
    result: Longs  # room for one vector
    counts: Longs  # what was done


def new_vectors(predicates: int, levels: int) -> Vectors:
    words = levels // 64 + 1
    return Vectors(
        words=np.zeros(words * predicates, np.int64),
        predicates=predicates,
        met=np.zeros(predicates, np.int32),
        result=np.zeros(words, np.int64),
        counts=np.zeros(COUNTS, np.int64),
    )


@inlined
def raw_vectors(vectors: Vectors) -> Vectors:
    words, met = raw(vectors.words), raw(vectors.met)
    return Vectors(words, vectors.predicates, met, raw(vectors.result), raw(vectors.counts))


@inlined
def enter(vectors: Vectors, entries: Ints, used: int, predicate: int, level: int) -> int:
    """Set a bit, and write it down in `entries`: twice the predicate, plus 1 if it is the first of its bits.

    The new end of the entries. Predicate -1 is none.
    """
    if predicate < 0:
        return used
    at = ((level - 1) >> 6) * vectors.predicates + predicate
    bit = np.int64(1) << ((level - 1) & 63)
    if vectors.words[at] & bit:
        return used
    vectors.words[at] |= bit
    vectors.met[predicate] += 1
    entries[used] = 2 * predicate + (vectors.met[predicate] == 1)
    return used + 1


@inlined
def leave(vectors: Vectors, entries: Ints, top: int, used: int, level: int) -> int:
    """Clear the bits of one level, which are those of `entries[top:used]`."""
    block = ((level - 1) >> 6) * vectors.predicates
    kept = ~(np.int64(1) << ((level - 1) & 63))
    for k in range(top, used):
        vectors.words[block + (entries[k] >> 1)] &= kept
        vectors.met[entries[k] >> 1] -= 1
    return top


@inlined
def _narrow(cells: Ints, span: tuple[int, int, int], vectors: Vectors) -> int:
    """The levels at which an expression may end, in one word (Code Sample 1). Its items are `cells[cell:stop:step]`."""
    cell, stop, step = span
    words = vectors.words
    result = words[cells[cell] >> OP_BITS]
    cell += step
    while result != 0 and cell < stop:
        predicate, op = cells[cell] >> OP_BITS, cells[cell] & _OP
        if op == CHILD:
            result = (result << 1) & words[predicate]
        elif op == BELOW:
            result = words[predicate] & -((result & -result) << 1)  # all after the first
        else:
            result &= words[predicate]
        vectors.counts[OPERATIONS] += 1
        cell += step
    return int(result)


@inlined
def _wide(cells: Ints, span: tuple[int, int, int], vectors: Vectors, last_word: int) -> bool:
    """As `_narrow`, in the words of `result`; whether there is any such level."""
    cell, stop, step = span
    words, result, block = vectors.words, vectors.result, vectors.predicates
    is_any = True
    while is_any and cell < stop:
        predicate, op = cells[cell] >> OP_BITS, cells[cell] & _OP
        is_any = False
        is_after = False  # the first bit of the result was in a lower word
        carry = np.int64(0)
        for w in range(last_word + 1):
            word, before = words[w * block + predicate], result[w]
            if op == START:
                result[w] = word
            elif op == CHILD:
                result[w] = ((before << 1) | carry) & word
                carry = (before >> 63) & 1
            elif op == BELOW:
                if not is_after:
                    is_after = before != 0
                    word &= -((before & -before) << 1)
                result[w] = word
            else:
                result[w] = before & word
            is_any = is_any or result[w] != 0
        vectors.counts[OPERATIONS] += last_word + 1
        cell += step
    return is_any


@kernel
def test_clusters(
    clusters: Clusters, vectors: Vectors, predicate: int, levels: tuple[int, int], found: tuple[Ints, int]
) -> tuple[Ints, int]:
    """Add rows (expression, level): what the predicate gives access to and ends at a level that was not seen before.

    `levels` are the first of these and the last of the path. What ends above them was found with an earlier path.
    """
    fresh, deepest = levels
    hits, used = found
    first_word, last_word = (fresh - 1) >> 6, (deepest - 1) >> 6
    own = -(np.int64(1) << ((fresh - 1) & 63))
    for cluster in range(clusters.families[predicate], clusters.families[predicate + 1]):
        step = clusters.rows[cluster]
        begin = clusters.begin[cluster]
        stop = begin + step * clusters.size[cluster]
        vectors.counts[TESTED] += step
        for j in range(step):
            last = clusters.cells[stop - step + j] >> OP_BITS
            if last_word == 0:
                if vectors.words[last] & own == 0:
                    continue
                ends = _narrow(clusters.cells, (begin + j, stop, step), vectors) & own
                while ends:
                    hits = more_rows(hits, used)
                    hits[used, 0] = clusters.expression[clusters.first[cluster] + j]
                    hits[used, 1] = lowest_bit(ends) + 1
                    used += 1
                    ends &= ends - 1
                continue
            others = vectors.words[first_word * vectors.predicates + last] & own
            for w in range(first_word + 1, last_word + 1):
                others |= vectors.words[w * vectors.predicates + last]
            if others == 0 or not _wide(clusters.cells, (begin + j, stop, step), vectors, last_word):
                continue
            for w in range(first_word, last_word + 1):
                ends = vectors.result[w] & own if w == first_word else vectors.result[w]
                while ends:
                    hits = more_rows(hits, used)
                    hits[used, 0] = clusters.expression[clusters.first[cluster] + j]
                    hits[used, 1] = 64 * w + lowest_bit(ends) + 1
                    used += 1
                    ends &= ends - 1
    return hits, used
