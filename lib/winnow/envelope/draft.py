"""A tree while it is being changed: a private copy of the node arrays with room behind them.

The kernels here keep one invariant: outside of a call every envelope is the smallest one around its members.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes, cover

ROOT, NODES, POSITIONS = range(3)  # of `Draft.state`


class Draft(NamedTuple):
    rows: Boxes
    nodes: Boxes
    level: NDArray[np.int64]
    counts: NDArray[np.int64]
    slots: NDArray[np.int64]
    parent: NDArray[np.int64]  # -1 for the root
    home: NDArray[np.int64]  # the node that holds a row; kept only by `delete`, else empty
    state: NDArray[np.int64]  # root, nodes used, positions used
    min_fanout: int


@kernel
def has_room(draft: Draft, longest: int) -> bool:
    """One insert or delete visits each level once and, at worst, moves or adds three envelopes there."""
    levels = draft.level[draft.state[ROOT]] + 2
    nodes = draft.level.size - draft.state[NODES]
    positions = draft.nodes.positions.size - draft.state[POSITIONS]
    return bool(nodes >= levels and positions >= 3 * levels * longest)


@kernel
def reserve(draft: Draft, node: int, longest: int) -> None:
    """Room for an envelope of `longest` positions. The old place is lost until the tree is written out."""
    draft.nodes.heads[node].start = draft.state[POSITIONS]
    draft.state[POSITIONS] += longest


@kernel
def enclose(draft: Draft, node: int) -> None:
    """Give `node` the smallest envelope around its members."""
    members = draft.slots[node, : draft.counts[node]]
    source = draft.rows if draft.level[node] == 1 else draft.nodes
    longest = 0
    for k in range(members.size):
        longest = max(longest, source.heads[members[k]].longest)
    if longest > draft.nodes.heads[node].longest:
        reserve(draft, node, longest)
    cover(draft.nodes, node, source, members)


@kernel
def adopt(draft: Draft, node: int, members: NDArray[np.int64]) -> None:
    """Make `members` the members of `node`."""
    draft.counts[node] = members.size
    for k in range(members.size):
        draft.slots[node, k] = members[k]
        if draft.level[node] > 1:
            draft.parent[members[k]] = node
        elif draft.home.size:
            draft.home[members[k]] = node
    enclose(draft, node)


@kernel
def joined(draft: Draft, node: int, others: NDArray[np.int64]) -> NDArray[np.int64]:
    """The members of `node`, then `others`."""
    count = draft.counts[node]
    both = np.empty(count + others.size, np.int64)
    for k in range(both.size):
        both[k] = draft.slots[node, k] if k < count else others[k - count]
    return both


@kernel
def new_node(draft: Draft, level: int) -> int:
    node = draft.state[NODES]
    draft.state[NODES] += 1
    draft.level[node] = level
    draft.counts[node] = 0
    draft.parent[node] = -1
    draft.nodes.heads[node].longest = 0  # so that `enclose` reserves room
    draft.nodes.heads[node].start = draft.state[POSITIONS]
    return int(node)
