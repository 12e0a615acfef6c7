"""The walks over envelope trees: Algorithm 3 (one data sequence) and Algorithm 4 (two trees at once).

Results are pairs of rows in two buffers that grow by doubling; counters are those of `pairs.Counters`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes
from winnow.envelope.relation import fits
from winnow.envelope.tree import Arrays

NODE_PAIRS, LEAF_PAIRS, CANDIDATES = range(3)


class Walk(NamedTuple):
    """The state of a walk: what is asked, where to go next, what was found and what it cost."""

    relation: int
    stack: NDArray[np.int64]
    data: NDArray[np.int32]  # rows, the first `found` of them valid
    queries: NDArray[np.int32]
    found: int
    tally: NDArray[np.int64]


@kernel
def _doubled(buffer: NDArray[np.int32]) -> NDArray[np.int32]:
    longer = np.empty(buffer.size * 2, np.int32)
    for k in range(buffer.size):  # a slice assignment takes seconds to compile
        longer[k] = buffer[k]
    return longer


@kernel
def search_below(queries: Arrays, top: int, data: Boxes, row: int, walk: Walk) -> Walk:
    """Algorithm 3, and RSearch of Algorithm 4: report the queries below node `top` that lie in data row `row`.

    The caller has tested the envelope of `top` itself.
    """
    nodes, rows, relation = queries.nodes, queries.rows, walk.relation
    out_data, out_queries, found, stack, tally = walk.data, walk.queries, walk.found, walk.stack, walk.tally
    may = data.heads[row].may
    stack[0] = top
    depth = 1
    while depth:
        depth -= 1
        node = stack[depth]
        size = queries.counts[node]
        if queries.level[node] > 1:
            tally[NODE_PAIRS] += size
            for k in range(size):
                child = queries.slots[node, k]
                if not nodes.heads[child].must & ~may and fits(nodes, child, data, row, relation):
                    stack[depth] = child
                    depth += 1
            continue
        tally[LEAF_PAIRS] += size
        while found + size > out_data.size:
            out_data, out_queries = _doubled(out_data), _doubled(out_queries)
        for k in range(size):
            query = queries.slots[node, k]
            if not rows.heads[query].must & ~may:
                tally[CANDIDATES] += 1
                if fits(rows, query, data, row, relation):
                    out_data[found] = row
                    out_queries[found] = query
                    found += 1
    return Walk(relation, stack, out_data, out_queries, found, tally)


@kernel
def search_beside(queries: Boxes, row: int, data: Arrays, top: int, walk: Walk) -> Walk:
    """LSearch of Algorithm 4: report the data sequences below node `top` in which query row `row` lies."""
    nodes, rows, relation = data.nodes, data.rows, walk.relation
    out_data, out_queries, found, stack, tally = walk.data, walk.queries, walk.found, walk.stack, walk.tally
    must = queries.heads[row].must
    stack[0] = top
    depth = 1
    while depth:
        depth -= 1
        node = stack[depth]
        size = data.counts[node]
        if data.level[node] > 1:
            tally[NODE_PAIRS] += size
            for k in range(size):
                child = data.slots[node, k]
                if not must & ~nodes.heads[child].may and fits(queries, row, nodes, child, relation):
                    stack[depth] = child
                    depth += 1
            continue
        tally[LEAF_PAIRS] += size
        while found + size > out_data.size:
            out_data, out_queries = _doubled(out_data), _doubled(out_queries)
        for k in range(size):
            member = data.slots[node, k]
            if not must & ~rows.heads[member].may:
                tally[CANDIDATES] += 1
                if fits(queries, row, rows, member, relation):
                    out_data[found] = member
                    out_queries[found] = row
                    found += 1
    return Walk(relation, stack, out_data, out_queries, found, tally)


@kernel
def _start(relation: int, room: int) -> Walk:
    empty = np.empty(1024, np.int32)
    return Walk(relation, np.empty(room, np.int64), empty, empty.copy(), 0, np.zeros(3, np.int64))


@kernel
def walk_rows(queries: Arrays, root: int, data: Boxes, relation: int) -> Walk:
    """Algorithm 3 for each box of `data`."""
    walk = _start(relation, (queries.level[root] + 1) * queries.slots.shape[1])
    nodes = queries.nodes
    walk.tally[NODE_PAIRS] += data.heads.size
    for row in range(data.heads.size):
        if fits(nodes, root, data, row, relation):
            walk = search_below(queries, root, data, row, walk)
    return walk


@kernel
def walk_trees(queries: Arrays, query_root: int, data: Arrays, data_root: int, relation: int) -> Walk:
    """Algorithm 4. Children are first held against the other node as a whole, only the survivors against each other.

    Where one tree has come to its lowest nodes, each sequence of such a node goes on alone into the rest of the other
    tree (LSearch, RSearch): alone it prunes more than the envelope of its node would.
    """
    query_nodes, query_rows, data_nodes, data_rows = queries.nodes, queries.rows, data.nodes, data.rows
    fanout = max(queries.slots.shape[1], data.slots.shape[1])
    height = queries.level[query_root] + data.level[data_root]
    walk = _start(relation, (height + 1) * fanout)
    tally = walk.tally
    pairs = np.empty(((height + 1) * fanout * fanout, 2), np.int64)
    left = np.empty(fanout, np.int64)
    pairs[0, 0] = query_root
    pairs[0, 1] = data_root
    depth = 1
    while depth:
        depth -= 1
        query = pairs[depth, 0]
        node = pairs[depth, 1]
        if data.level[node] == 1:
            tally[NODE_PAIRS] += data.counts[node]
            for k in range(data.counts[node]):
                row = data.slots[node, k]
                if fits(query_nodes, query, data_rows, row, relation):
                    walk = search_below(queries, query, data_rows, row, walk)
            continue
        if queries.level[query] == 1:
            tally[NODE_PAIRS] += queries.counts[query]
            for k in range(queries.counts[query]):
                row = queries.slots[query, k]
                if fits(query_rows, row, data_nodes, node, relation):
                    walk = search_beside(query_rows, row, data, node, walk)
            continue
        lefts = 0
        tally[NODE_PAIRS] += queries.counts[query] + data.counts[node]
        for k in range(queries.counts[query]):
            if fits(query_nodes, queries.slots[query, k], data_nodes, node, relation):
                left[lefts] = queries.slots[query, k]
                lefts += 1
        for k in range(data.counts[node]):
            child = data.slots[node, k]
            if fits(query_nodes, query, data_nodes, child, relation):
                tally[NODE_PAIRS] += lefts
                for m in range(lefts):
                    if fits(query_nodes, left[m], data_nodes, child, relation):
                        pairs[depth, 0] = left[m]
                        pairs[depth, 1] = child
                        depth += 1
    return walk
