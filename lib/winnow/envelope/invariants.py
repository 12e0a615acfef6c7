"""What must hold for every envelope tree, checked slowly and independently of the kernels. Used by tests and audits."""

from collections import Counter

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes
from winnow.envelope.tree import Arrays, EnvelopeTree


def _envelope(boxes: Boxes, members: list[int]) -> dict[str, object]:
    """The smallest envelope around `members`, from its definition in boxes.py."""
    heads = [boxes.heads[m] for m in members]
    shortest, longest = min(int(h["shortest"]) for h in heads), max(int(h["longest"]) for h in heads)
    positions = []
    for i in range(longest):
        at = [int(h["start"]) + i for h in heads if i < h["longest"]]
        box = boxes.positions[at]
        positions.append((int(box["low"].min()), int(box["high"].max()), int(box["adjacent"].min())))
    return {
        "lengths": (shortest, longest),
        "positions": positions,
        "top": int(shortest == longest and all(h["top"] for h in heads)),
        "must": int(np.bitwise_and.reduce([h["must"] for h in heads])),
        "may": int(np.bitwise_or.reduce([h["may"] for h in heads])),
    }


def _mislabelled(tree: EnvelopeTree, row: int) -> bool:
    head = tree.arrays.rows.heads[row]
    positions = tree.arrays.rows.positions[int(head["start"]) :][: int(head["longest"])]
    labels = {int(p["low"]) & 63 for p in positions if p["low"] == p["high"]}
    must = sum(1 << label for label in labels)
    may = must if all(p["low"] == p["high"] for p in positions) else 2**64 - 1
    top = int(positions[-1]["adjacent"]) if len(positions) else 0
    return (int(head["must"]), int(head["may"]), int(head["top"])) != (must, may, top)


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
        source = arrays.rows if level == 1 else arrays.nodes
        actual = _envelope(arrays.nodes, [node]) | {"top": int(arrays.nodes.heads[node]["top"])}
        if below and actual != (expected := _envelope(source, below)):
            wrong = [name for name in expected if actual[name] != expected[name]]
            problems.append(f"node {node} does not have the envelope of its members: {', '.join(wrong)}")
        if level == 1:
            rows += below
            problems += [
                f"the labels of row {row} are not those of its sequence" for row in below if _mislabelled(tree, row)
            ]
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
