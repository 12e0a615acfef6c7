"""The answer of a join: pairs of ids, sorted, and the counters that say what it cost."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel

DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)  # times 2**k, its upper six bits differ for every k
BIT = np.argsort([((int(DE_BRUIJN) << k) >> 58) & 63 for k in range(64)]).astype(np.int32)


class Counters(NamedTuple):
    build: int  # sequences in the query tree
    stream: int  # data sequences
    node_pairs: int  # envelope tests with a tree node on at least one side
    leaf_pairs: int  # pairs of sequences that no envelope could rule out
    candidates: int  # those of them that the labels could not rule out either: tested position by position
    results: int


class Pairs(NamedTuple):
    """`queries[k]` lies in `data[k]`; ascending by data, then query; no pair comes twice: a tree holds an id once."""

    data: NDArray[np.int32]
    queries: NDArray[np.int32]
    counters: Counters


@kernel
def _sort_rows(
    data: NDArray[np.int32], queries: NDArray[np.int32], offsets: NDArray[np.int64], rank: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Query ranks grouped by data rank and ascending within a group.

    A comparison sort of tens of millions of pairs would cost more than the join. Groups are made by counting; a group
    is sorted by marking its ranks as bits, and the words with bits as bits of `index`, and reading them off in order.
    """
    grouped = np.empty(queries.size, np.int32)
    fill = offsets[:-1].copy()
    for k in range(queries.size):
        group = data[k]
        grouped[fill[group]] = rank[queries[k]]
        fill[group] += 1
    one = np.uint64(1)
    words = np.zeros((rank.size >> 6) + 1, np.uint64)
    index = np.zeros((words.size >> 6) + 1, np.uint64)
    for group in range(offsets.size - 1):
        at = offsets[group]
        for k in range(at, offsets[group + 1]):
            word = grouped[k] >> 6
            words[word] |= one << np.uint64(grouped[k] & 63)
            index[word >> 6] |= one << np.uint64(word & 63)
        for i in range(index.size if at < offsets[group + 1] else 0):
            block = index[i]
            index[i] = 0
            w = i * 64
            while block:
                word = words[w] if block & one else np.uint64(0)
                words[w] = 0
                value = w * 64
                while word:
                    lowest = word & (~word + one)
                    grouped[at] = value + BIT[(lowest * DE_BRUIJN) >> np.uint64(58)]
                    at += 1
                    word ^= lowest
                block >>= one
                w += 1
    return grouped


def _ranks(ids: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    order = np.argsort(ids, kind="stable")
    rank = np.empty(len(ids), np.int32)
    rank[order] = np.arange(len(ids), dtype=np.int32)
    return rank, ids[order]


def sorted_pairs(
    data: NDArray[np.int32],
    queries: NDArray[np.int32],
    data_ids: NDArray[np.int32],
    query_ids: NDArray[np.int32],
    counters: Counters,
) -> Pairs:
    """Turn pairs of rows, in the order the walk met them, into sorted pairs of ids."""
    if len(queries) < len(query_ids):  # too few to be worth ranking all ids
        pairs = data_ids[data], query_ids[queries]
        order = np.lexsort((pairs[1], pairs[0]))
        return Pairs(pairs[0][order], pairs[1][order], counters)
    data_rank, data_sorted = _ranks(data_ids)
    query_rank, query_sorted = _ranks(query_ids)
    data = data_rank[data]
    counts = np.bincount(data, minlength=len(data_ids))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    ranks = _sort_rows(data, queries, offsets, query_rank)
    return Pairs(np.repeat(data_sorted, counts), query_sorted[ranks], counters)
