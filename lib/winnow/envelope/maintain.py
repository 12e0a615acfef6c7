"""Insert and delete, mixed with search: each gives a new tree and leaves the old one as it was.

The cost is that of copying the node arrays (a small part of the tree) plus that of the change. Rows are shared
(storage.py). What deletions leave behind is swept out when it outweighs what is alive, so the cost stays amortised.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes, copy_records, empty_boxes
from winnow.envelope.delete import delete_rows
from winnow.envelope.draft import NODES, POSITIONS, ROOT, Draft
from winnow.envelope.insert import insert_rows
from winnow.envelope.sequences import SequenceSet
from winnow.envelope.storage import Rows
from winnow.envelope.subtree import subtree
from winnow.envelope.tree import Arrays, EnvelopeTree, named_boxes, pack_tree
from winnow.errors import DataError


@kernel
def _fill_parents(arrays: Arrays, parent: NDArray[np.int64], home: NDArray[np.int64]) -> None:
    for node in range(arrays.level.size):
        for k in range(arrays.counts[node] if arrays.level[node] > 0 else 0):
            if arrays.level[node] > 1:
                parent[arrays.slots[node, k]] = node
            elif home.size:
                home[arrays.slots[node, k]] = node


def _draft(tree: EnvelopeTree, rows: Boxes, *, homes: bool) -> Draft:
    arrays = tree.arrays
    parent = np.full(len(arrays.level), -1, np.int64)
    home = np.empty(len(rows.heads) if homes else 0, np.int64)
    _fill_parents(arrays, parent, home)
    state = np.array([tree.root, len(arrays.level), len(arrays.nodes.positions)], np.int64)
    shape = arrays.nodes, arrays.level, arrays.counts, arrays.slots
    return Draft(rows, *shape, parent, home, state, tree.parameters.min_fanout)


def _with_room(draft: Draft, *, nodes: int, positions: int) -> Draft:
    """A copy of the draft with room for more nodes and positions."""
    used, stop = int(draft.state[NODES]), int(draft.state[POSITIONS])

    def longer(array: NDArray[np.int64]) -> NDArray[np.int64]:
        copy = np.full((used + nodes, *array.shape[1:]), -1, array.dtype)
        copy[:used] = array[:used]
        return copy

    boxes = empty_boxes(used + nodes, stop + positions)
    copy_records(boxes.heads, draft.nodes.heads[:used])
    copy_records(boxes.positions, draft.nodes.positions[:stop])
    return draft._replace(
        nodes=boxes,
        level=longer(draft.level),
        counts=longer(draft.counts),
        slots=longer(draft.slots),
        parent=longer(draft.parent),
    )


def _finished(tree: EnvelopeTree, draft: Draft, ids: NDArray[np.int32], size: int) -> EnvelopeTree:
    used, stop = int(draft.state[NODES]), int(draft.state[POSITIONS])
    nodes = Boxes(draft.nodes.heads[:used], draft.nodes.positions[:stop])
    arrays = Arrays(draft.rows, nodes, draft.level[:used], draft.counts[:used], draft.slots[:used], ids)
    return replace(tree, arrays=arrays, root=int(draft.state[ROOT]), size=size)


@kernel
def _find_rows(arrays: Arrays, wanted: NDArray[np.int32]) -> NDArray[np.int64]:
    """Rows in the tree whose ids are among the sorted `wanted`. A bit per hashed id spares most binary searches."""
    mask = np.zeros(1 << 16, np.bool_)
    for k in range(wanted.size):
        mask[wanted[k] & 0xFFFF] = True
    rows = np.empty(wanted.size, np.int64)
    found = 0
    for node in range(arrays.level.size):
        for k in range(arrays.counts[node] if arrays.level[node] == 1 else 0):
            row = arrays.slots[node, k]
            wish = arrays.ids[row]
            if mask[wish & 0xFFFF]:
                at = np.searchsorted(wanted, wish)
                if at < wanted.size and wanted[at] == wish:
                    rows[found] = row
                    found += 1
    return rows[:found]


def insert(tree: EnvelopeTree, sequences: SequenceSet, *, ids: NDArray[np.int32]) -> EnvelopeTree:
    """The tree with `sequences` added under new `ids`."""
    boxes, ids = named_boxes(sequences, ids, tree.parameters)
    clashes = tree.arrays.ids[_find_rows(tree.arrays, np.sort(ids))]
    if len(clashes):
        message = f"{len(clashes)} ids are in the tree already, {clashes.min()} for one"
        raise DataError("envelope_duplicate_id", message, hint="delete them first")
    if not len(ids):
        return tree
    if not len(tree):
        return pack_tree(Rows(boxes, ids), tree.parameters)
    if len(ids) >= len(tree):  # sorting all of them costs no more, and packs better
        alive = subtree(tree, tree.root)
        old = Rows(alive.arrays.rows, alive.arrays.ids)
        return pack_tree(alive.storage.append(old, boxes, ids)[1], tree.parameters)
    first = len(tree.arrays.ids)
    storage, rows = tree.storage.append(Rows(tree.arrays.rows, tree.arrays.ids), boxes, ids)
    longest = int(max(boxes.heads["longest"].max(), tree.arrays.nodes.heads["longest"][tree.root], 1))
    draft = _draft(tree, rows.boxes, homes=False)
    while first < len(rows.ids):
        more = 64 + (len(rows.ids) - first) // 4
        draft = _with_room(draft, nodes=more, positions=(3 * more + 64) * longest)
        first = insert_rows(draft, first, len(rows.ids), longest)
    return replace(_finished(tree, draft, rows.ids, len(tree) + len(ids)), storage=storage)


def delete(tree: EnvelopeTree, ids: NDArray[np.int32]) -> EnvelopeTree:
    """The tree without the sequences named by `ids`."""
    wanted = np.unique(np.asarray(ids, np.int32))
    rows = _find_rows(tree.arrays, wanted)
    if len(rows) < len(wanted):
        missing = np.setdiff1d(wanted, tree.arrays.ids[rows])
        raise DataError("envelope_unknown_id", f"{len(missing)} ids are not in the tree, {missing[0]} for one")
    longest = int(max(tree.arrays.nodes.heads["longest"][tree.root], 1))
    draft = _draft(tree, tree.arrays.rows, homes=True)
    done = 0
    while done < len(rows):
        draft = _with_room(draft, nodes=64, positions=(len(rows) - done + 64) * 3 * longest)
        done = delete_rows(draft, rows, done, longest)
    changed = _finished(tree, draft, tree.arrays.ids, len(tree) - len(rows))
    return subtree(changed, changed.root) if 2 * len(changed) < len(changed.arrays.ids) else changed
