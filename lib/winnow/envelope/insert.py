"""The kernels of insertion (section 4.3, "Envelope Insertion")."""

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes, widen
from winnow.envelope.cost import enlargement
from winnow.envelope.draft import ROOT, Draft, adopt, has_room, joined, new_node, reserve
from winnow.envelope.split import distribute


@kernel
def closest(draft: Draft, node: int, source: Boxes, entry: int, skip: int) -> int:
    """The child of `node`, other than `skip`, that needs the least enlargement to cover `entry` of `source`.

    An envelope that covers it already needs none; of equals the one with the fewest members wins, as in the paper.
    """
    nodes = draft.nodes
    best = -1
    least = np.inf
    for k in range(draft.counts[node]):
        child = draft.slots[node, k]
        if child != skip:
            grows = enlargement(nodes, child, source, entry)
            if grows < least or (grows == least and draft.counts[child] < draft.counts[best]):
                best = child
                least = grows
    return best


@kernel
def _include(draft: Draft, node: int, row: int) -> None:
    """Widen the envelope of `node` by a row that is about to be stored below it."""
    nodes = draft.nodes
    known = nodes.heads[node].longest
    longest = draft.rows.heads[row].longest
    if longest > known:
        old = nodes.heads[node].start
        reserve(draft, node, longest)
        new = nodes.heads[node].start
        for i in range(known):
            nodes.positions[new + i] = nodes.positions[old + i]
    widen(nodes, node, draft.rows, row, known)


@kernel
def _store(draft: Draft, node: int, member: int) -> None:
    """Put `member` into `node`, splitting upwards as necessary; the envelopes above cover it already."""
    fanout = draft.slots.shape[1]
    while member >= 0:
        count = draft.counts[node]
        if count < fanout:
            draft.slots[node, count] = member
            draft.counts[node] = count + 1
            if draft.level[node] > 1:
                draft.parent[member] = node
            member = -1
        else:
            source = draft.rows if draft.level[node] == 1 else draft.nodes
            members = joined(draft, node, np.array([member], np.int64))
            order, first = distribute(source, members, draft.min_fanout)
            sibling = new_node(draft, draft.level[node])
            adopt(draft, node, order[:first])
            adopt(draft, sibling, order[first:])
            if draft.parent[node] < 0:
                root = new_node(draft, draft.level[node] + 1)
                draft.state[ROOT] = root
                adopt(draft, root, np.array([node, sibling], np.int64))
                member = -1
            else:
                node = draft.parent[node]
                member = sibling


@kernel
def insert_rows(draft: Draft, first: int, end: int, longest: int) -> int:
    """Insert rows from `first`; returns the row at which room ran out, or `end`."""
    row = first
    while row < end and has_room(draft, longest):
        node = draft.state[ROOT]
        if draft.counts[node] == 0:
            adopt(draft, node, np.array([row], np.int64))
        else:
            while draft.level[node] > 1:
                _include(draft, node, row)
                node = closest(draft, node, draft.rows, row, -1)
            _include(draft, node, row)
            _store(draft, node, row)
        row += 1
    return row
