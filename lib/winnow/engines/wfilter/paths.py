"""WFilter on paths (Martins and Pereira, §4.4 and §4.6): expressions without values, once for each path of a batch.

An internal event of the paper is a path from the root to a leaf. Events that differ in the leaf only are one; equal
paths of all documents of a batch are one as well. What ends at an inner node is reported with the first event that has
the node on its path.
"""

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.engines.automata.reading import longer, more_rows
from winnow.engines.automata.xfilter_machines import ANY_ATTRIBUTE_KEY, ANY_ELEMENT_KEY, key_of
from winnow.engines.predicates.access import Rows
from winnow.engines.wfilter.clusters import Clusters, raw_clusters
from winnow.engines.wfilter.predicates import Index, enter_label, raw_index
from winnow.engines.wfilter.tree import TEXT, PathTree, is_leaf
from winnow.engines.wfilter.vectors import EVENTS, Vectors, leave, raw_vectors, test_clusters

_TEXT_KEY = 2


@kernel
def ends_on_paths(tree: PathTree, index: Index, clusters: Clusters, vectors: Vectors, seen: Longs) -> Rows:
    """The expressions that end at each path: at `2 * path`, and at text below it: at `2 * path + 1`.

    `seen` counts, for the choice of access predicates, the events with a label: at twice its key, and as the root at
    the number after it.
    """
    clusters_, vectors_, index_ = raw_clusters(clusters), raw_vectors(vectors), raw_index(index)
    children = tree.children
    levels = 64 * vectors.result.size + 1
    path_at, cursor, tops = np.zeros(levels, np.int64), np.zeros(levels, np.int64), np.zeros(levels, np.int64)
    leaf_at = np.zeros(index.position.size, np.int64)
    entries, hits, ends = np.empty(64, np.int32), np.empty((1024, 2), np.int32), np.empty((1024, 2), np.int32)
    level, fresh, used, found = 0, 1, 0, 0
    is_new = True
    while level >= 0:
        path = path_at[level]
        if is_new:
            # The event of this path with all leaves below it.
            is_new = False
            top = used
            cursor[level] = children.offsets[path]
            is_event = tree.flags[path] & TEXT != 0
            if is_event:
                entries = longer(entries, used, used + 8)
                used = enter_label(index_, vectors_, entries, used, (0, level + 1))
            for k in range(children.offsets[path], children.offsets[path + 1]):
                leaf = children.items[k]
                if is_leaf(tree, leaf):
                    is_event = True
                    entries = longer(entries, used, used + 8)
                    used = enter_label(index_, vectors_, entries, used, (tree.symbols[leaf], level + 1))
                    leaf_at[key_of(tree.symbols[leaf])] = leaf
                    seen[2 * key_of(tree.symbols[leaf])] += 1
            if is_event:
                vectors_.counts[EVENTS] += 1
                for k in range(1, level + 1):
                    seen[2 * key_of(tree.symbols[path_at[k]]) + (k == 1)] += 1
                if level:
                    seen[2 * key_of(tree.symbols[path_at[1]])] += 1
                held = 0
                for k in range(used):
                    if entries[k] & 1:
                        hits, held = test_clusters(
                            clusters_, vectors_, entries[k] >> 1, (fresh, level + 1), (hits, held)
                        )
                for k in range(held):
                    expression, end = hits[k, 0], hits[k, 1]
                    if end <= level:
                        ends = more_rows(ends, found)
                        ends[found, 0] = 2 * path_at[end]
                        ends[found, 1] = expression
                        found += 1
                        continue
                    key = index_.last[expression]
                    if key > ANY_ATTRIBUTE_KEY:
                        ends = more_rows(ends, found)
                        ends[found, 0] = 2 * path + 1 if key == _TEXT_KEY else 2 * leaf_at[key]
                        ends[found, 1] = expression
                        found += 1
                        continue
                    for i in range(children.offsets[path], children.offsets[path + 1]):
                        leaf = children.items[i]
                        if is_leaf(tree, leaf) and (tree.symbols[leaf] > 0) == (key == ANY_ELEMENT_KEY):
                            ends = more_rows(ends, found)
                            ends[found, 0] = 2 * leaf
                            ends[found, 1] = expression
                            found += 1
                fresh = level + 1
                used = leave(vectors_, entries, top, used, level + 1)
        while cursor[level] < children.offsets[path + 1] and is_leaf(tree, children.items[cursor[level]]):
            cursor[level] += 1
        if cursor[level] < children.offsets[path + 1]:
            child = children.items[cursor[level]]
            cursor[level] += 1
            level += 1
            path_at[level] = child
            tops[level] = used
            entries = longer(entries, used, used + 8)
            used = enter_label(index_, vectors_, entries, used, (tree.symbols[child], level))
            fresh = min(fresh, level)
            is_new = True
        else:
            if level:
                used = leave(vectors_, entries, tops[level], used, level)
            level -= 1
    return _grouped(ends[:found], 2 * tree.symbols.size)


@kernel
def _grouped(pairs: Ints, groups: int) -> Rows:
    offsets = np.zeros(groups + 2, np.int64)
    for k in range(pairs.shape[0]):
        offsets[pairs[k, 0] + 2] += 1
    offsets = np.cumsum(offsets)
    items = np.empty(pairs.shape[0], np.int32)
    for k in range(pairs.shape[0]):
        items[offsets[pairs[k, 0] + 1]] = pairs[k, 1]
        offsets[pairs[k, 0] + 1] += 1
    return Rows(offsets, items)


@kernel
def met_on_paths(batch: EncodedBatch, ends: Rows, with_text: bool, stamps: Ints, last_stamp: int) -> Ints:
    """Rows (document, expression, node) with the first such node; of text, the element around it."""
    met = np.empty((1024, 3), np.int32)
    used = 0
    passed = np.full(ends.offsets.size, -1, np.int32)
    offsets, items, stamps_ = raw(ends.offsets), raw(ends.items), raw(stamps)
    for document in range(batch.doc_offsets.size - 1):
        stamp = np.int32(last_stamp + 1 + document)
        for kind in range(2 if with_text else 1):
            of_text = kind == 1
            start = batch.text_offsets[document] if of_text else batch.doc_offsets[document]
            stop = batch.text_offsets[document + 1] if of_text else batch.doc_offsets[document + 1]
            for item in range(start, stop):
                node = batch.text_parent[item] if of_text else item
                end = 2 * batch.path[node] + kind
                if passed[end] == document:
                    continue
                passed[end] = document
                for k in range(offsets[end], offsets[end + 1]):
                    expression = items[k]
                    if stamps_[expression] == stamp:
                        continue
                    stamps_[expression] = stamp
                    met = more_rows(met, used)
                    met[used, 0] = document
                    met[used, 1] = expression
                    met[used, 2] = node
                    used += 1
    return met[:used]
