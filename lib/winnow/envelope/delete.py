"""The kernels of deletion (section 4.3, "Envelope Deletion")."""

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.envelope.draft import ROOT, Draft, adopt, enclose, has_room, joined
from winnow.envelope.insert import closest
from winnow.envelope.split import distribute


@kernel
def _remove(draft: Draft, node: int, member: int) -> None:
    last = draft.counts[node] - 1
    for k in range(last):
        if draft.slots[node, k] == member:
            draft.slots[node, k] = draft.slots[node, last]
    draft.counts[node] = last


@kernel
def _merge(draft: Draft, node: int) -> None:
    """Redistribute the members of a node that has too few: into the closest sibling or, if that is full, over both."""
    enclose(draft, node)
    parent = draft.parent[node]
    sibling = closest(draft, parent, draft.nodes, node, node)
    members = joined(draft, sibling, draft.slots[node, : draft.counts[node]])
    if members.size <= draft.slots.shape[1]:
        adopt(draft, sibling, members)
        draft.level[node] = -1
        _remove(draft, parent, node)
    else:
        source = draft.rows if draft.level[node] == 1 else draft.nodes
        order, first = distribute(source, members, draft.min_fanout)
        adopt(draft, sibling, order[:first])
        adopt(draft, node, order[first:])


@kernel
def delete_rows(draft: Draft, rows: NDArray[np.int64], first: int, longest: int) -> int:
    """Delete `rows[first:]`; returns the index at which room ran out, or the number of rows."""
    k = first
    while k < rows.size and has_room(draft, longest):
        node = draft.home[rows[k]]
        _remove(draft, node, rows[k])
        while draft.parent[node] >= 0:
            parent = draft.parent[node]
            if draft.counts[node] < draft.min_fanout:
                _merge(draft, node)
            else:
                enclose(draft, node)
            node = parent
        while draft.level[node] > 1 and draft.counts[node] == 1:
            draft.level[node] = -1
            node = draft.slots[node, 0]
            draft.parent[node] = -1
            draft.state[ROOT] = node
        enclose(draft, node)
        k += 1
    return k
