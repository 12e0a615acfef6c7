"""Search and join: which query sequences lie in which data sequences.

With single sequences `fits` is exact (relation.py): for both relations the answer is exactly the pairs that hold. For
whole-document sequences under `SUBSEQUENCE` these are candidates of the XPath question; for `LINE` they are its answer.
"""

import numpy as np
from numpy.typing import NDArray

from winnow.envelope.pairs import Counters, Pairs, sorted_pairs
from winnow.envelope.sequences import SequenceSet
from winnow.envelope.tree import EnvelopeTree, named_boxes
from winnow.envelope.walk import CANDIDATES, LEAF_PAIRS, NODE_PAIRS, Walk, walk_rows, walk_trees
from winnow.errors import UsageError


def search(tree: EnvelopeTree, data: SequenceSet) -> NDArray[np.int32]:
    """Algorithm 3: ids, ascending, of the sequences of `tree` that lie in the one sequence of `data`."""
    if len(data) != 1:
        raise UsageError("envelope_search", f"search takes one data sequence, not {len(data)}", hint="use search_many")
    return search_many(tree, data).queries


def search_many(tree: EnvelopeTree, data: SequenceSet, *, ids: NDArray[np.int32] | None = None) -> Pairs:
    """Algorithm 3 for every sequence of `data`, which need no tree of their own."""
    boxes, names = named_boxes(data, ids, tree.parameters)
    walk = walk_rows(tree.arrays, tree.root, boxes, int(tree.parameters.relation))
    return _pairs(tree, len(data), names, walk)


def join(queries: EnvelopeTree | SequenceSet, data: EnvelopeTree | SequenceSet) -> Pairs:
    """Algorithm 4: all pairs of a query sequence and a data sequence that it lies in.

    A side given as a plain set (new paths for all branches; new branches for all paths) is bulk-loaded like the other.
    """
    if isinstance(queries, SequenceSet):
        if isinstance(data, SequenceSet):
            raise UsageError("envelope_join", "at least one side must be a tree; it says which relation is meant")
        queries = EnvelopeTree.bulk_load(queries, data.parameters)
    if isinstance(data, SequenceSet):
        data = EnvelopeTree.bulk_load(data, queries.parameters)
    if queries.parameters.relation != data.parameters.relation:
        names = f"{queries.parameters.relation.name} and {data.parameters.relation.name}"
        raise UsageError("envelope_relation", f"the trees were built for different relations: {names}")
    if queries.parameters.order != data.parameters.order:
        message = "the trees order symbols differently; their envelopes cannot be compared"
        raise UsageError("envelope_order", message, hint="build both with the same SymbolOrder")
    relation = int(queries.parameters.relation)
    walk = walk_trees(queries.arrays, queries.root, data.arrays, data.root, relation)
    return _pairs(queries, len(data), data.arrays.ids, walk)


def _pairs(queries: EnvelopeTree, stream: int, data_ids: NDArray[np.int32], walk: Walk) -> Pairs:
    tally = walk.tally
    counters = Counters(
        build=len(queries),
        stream=stream,
        node_pairs=int(tally[NODE_PAIRS]),
        leaf_pairs=int(tally[LEAF_PAIRS]),
        candidates=int(tally[CANDIDATES]),
        results=walk.found,
    )
    rows = walk.data[: walk.found], walk.queries[: walk.found]
    return sorted_pairs(*rows, data_ids, queries.arrays.ids, counters)
