"""What must hold for every envelope tree, written from the definitions and apart from what builds trees.

Tests and audits ask for it.
"""

from collections import Counter

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Flags
from winnow.envelope.tree import Arrays, EnvelopeTree

_PARTS = ("lengths", "positions", "top", "must", "may")  # of an envelope


@kernel
def _unlike_members(arrays: Arrays, node: int) -> Flags:
    """Which parts of a node's envelope are not those of the smallest one around its members."""
    source = arrays.rows if arrays.level[node] == 1 else arrays.nodes
    head = arrays.nodes.heads[node]
    members = arrays.slots[node, : arrays.counts[node]]
    first = source.heads[members[0]]
    shortest, longest, must, may, top = first.shortest, first.longest, first.must, first.may, first.top > 0
    for member in members:
        own = source.heads[member]
        shortest, longest = min(shortest, own.shortest), max(longest, own.longest)
        must, may, top = must & own.must, may | own.may, top and own.top > 0
    is_unlike = np.zeros(5, np.bool_)
    is_unlike[0] = head.shortest != shortest or head.longest != longest
    is_unlike[2] = (head.top > 0) != (top and shortest == longest)
    is_unlike[3], is_unlike[4] = head.must != must, head.may != may
    for i in range(min(longest, head.longest)):
        low, high, adjacent = np.iinfo(np.int32).max, np.iinfo(np.int32).min, 1
        for member in members:
            own = source.heads[member]
            if i < own.longest:
                at = source.positions[own.start + i]
                low, high, adjacent = min(low, at.low), max(high, at.high), min(adjacent, at.adjacent)
        outer = arrays.nodes.positions[head.start + i]
        is_unlike[1] = is_unlike[1] or outer.low != low or outer.high != high or outer.adjacent != adjacent
    return is_unlike


@kernel
def _mislabelled_rows(arrays: Arrays) -> Flags:
    """Which rows have other labels, or another anchor, than their sequences say."""
    heads, positions = arrays.rows.heads, arrays.rows.positions
    is_wrong = np.zeros(heads.size, np.bool_)
    for row in range(heads.size):
        head = heads[row]
        must, is_named = np.uint64(0), True
        for at in range(head.start, head.start + head.longest):
            if positions[at].low == positions[at].high:
                must |= np.uint64(1) << np.uint64(positions[at].low & 63)
            else:
                is_named = False
        may = must if is_named else ~np.uint64(0)
        top = positions[head.start + head.longest - 1].adjacent if head.longest else np.uint8(0)
        is_wrong[row] = head.must != must or head.may != may or head.top != top
    return is_wrong


def narrow_nodes(tree: EnvelopeTree) -> list[int]:
    """The nodes whose envelope leaves out some member at a position that a search looks at: they would lose matches."""
    return _narrow_nodes(tree.arrays)


@kernel
def _narrow_nodes(arrays: Arrays) -> list[int]:
    narrow = []
    for node in range(arrays.level.size):
        head = arrays.nodes.heads[node]
        is_narrow = False
        for k in range(arrays.counts[node] if arrays.level[node] > 0 else 0):
            source = arrays.rows if arrays.level[node] == 1 else arrays.nodes
            member = source.heads[arrays.slots[node, k]]
            is_narrow = is_narrow or head.shortest > member.shortest
            for i in range(min(head.shortest, member.shortest)):
                outer = arrays.nodes.positions[head.start + i]
                inner = source.positions[member.start + i]
                is_narrow = is_narrow or outer.low > inner.low or outer.high < inner.high
        if is_narrow:
            narrow.append(node)
    return narrow


def check_invariants(tree: EnvelopeTree) -> list[str]:
    """One message for each violation; an empty list for a sound tree.

    Balance, fan-out bounds, every id exactly once, counts, and every envelope the smallest one around its members:
    wider would only cost time, narrower would lose matches.
    """
    arrays, parameters, problems = tree.arrays, tree.parameters, []
    seen: Counter[int] = Counter()
    rows: list[int] = []
    mislabelled = _mislabelled_rows(arrays)
    stack = [tree.root]
    while stack:
        node = stack.pop()
        seen[node] += 1
        level, count = int(arrays.level[node]), int(arrays.counts[node])
        least = parameters.min_fanout if node != tree.root else 2 if level > 1 else 0
        if not least <= count <= parameters.max_fanout:
            problems.append(f"node {node} has {count} members, allowed are {least} to {parameters.max_fanout}")
            continue
        below = arrays.slots[node, :count].tolist()
        limit = len(arrays.ids) if level == 1 else len(arrays.level)
        strays = [m for m in below if not 0 <= m < limit or (level > 1 and arrays.level[m] != level - 1)]
        if level < 1 or strays:
            problems.append(f"node {node} of level {level} is out of balance: members {strays}")
            continue
        if below and (unlike := _unlike_members(arrays, node)).any():
            wrong = ", ".join(name for name, is_wrong in zip(_PARTS, unlike, strict=True) if is_wrong)
            problems.append(f"node {node} does not have the envelope of its members: {wrong}")
        if level == 1:
            rows += below
            problems += [f"the labels of row {row} are not those of its sequence" for row in below if mislabelled[row]]
        elif max(seen[m] for m in below) == 0:
            stack += below
        else:
            problems.append(f"node {node} shares members with another node")
    named = Counter(int(arrays.ids[row]) for row in rows)
    problems += [f"id {name} is in the tree {times} times" for name, times in named.items() if times > 1]
    if len(rows) != len(tree):
        problems.append(f"the tree says it has {len(tree)} sequences, but {len(rows)} are in it")
    alive = np.flatnonzero(arrays.level > 0)
    problems += [f"node {node} is in use but cannot be reached" for node in alive.tolist() if not seen[node]]
    return problems
