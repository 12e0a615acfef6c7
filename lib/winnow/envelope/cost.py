"""What makes an envelope good: the measures behind choosing a subtree and splitting a node (R*-tree, section 4.3).

Volumes are useless here: one wildcard would outweigh all other positions. The extent of an interval is mapped to
extent / (extent + 64), in [0, 1): 0 for one symbol, near 1 for a wildcard. A position that some sequence lacks cannot
prune at all and costs 1.
"""

from winnow.arrays.kernel import kernel
from winnow.envelope.boxes import Boxes

SOFTNESS = 64.0


@kernel
def margin(boxes: Boxes, k: int) -> float:
    head = boxes.heads[k]
    total = float(head.longest - head.shortest)
    for i in range(head.start, head.start + head.shortest):
        extent = float(boxes.positions[i].high) - float(boxes.positions[i].low)
        total += extent / (extent + SOFTNESS)
    return total


@kernel
def enlargement(boxes: Boxes, k: int, source: Boxes, s: int) -> float:
    """How much `margin` of envelope `k` would grow if it were widened to cover envelope `s` of `source`."""
    head = boxes.heads[k]
    other = source.heads[s]
    shortest = min(head.shortest, other.shortest)
    total = float(max(head.longest, other.longest) - shortest) - float(head.longest - head.shortest)
    for i in range(head.shortest):
        a = boxes.positions[head.start + i]
        extent = float(a.high) - float(a.low)
        total -= extent / (extent + SOFTNESS)
        if i < shortest:
            b = source.positions[other.start + i]
            extent = float(max(a.high, b.high)) - float(min(a.low, b.low))
            total += extent / (extent + SOFTNESS)
    return total


@kernel
def overlap(boxes: Boxes, a: int, b: int) -> float:
    """The share, from 0 to 1, of the union of two envelopes that lies in both, over the positions mandatory in both."""
    left = boxes.heads[a]
    right = boxes.heads[b]
    share = 1.0
    for i in range(min(left.shortest, right.shortest)):
        p = boxes.positions[left.start + i]
        q = boxes.positions[right.start + i]
        common = float(min(p.high, q.high)) - float(max(p.low, q.low)) + 1.0
        whole = float(max(p.high, q.high)) - float(min(p.low, q.low)) + 1.0
        share *= max(common, 0.0) / whole
    return share
