"""The sequences of a pattern for engine `boxfilter`: what every matching document's sequence must contain.

BoXFilter §2 (Theorem 1) writes a whole query as one Pruefer sequence and looks for it as a subsequence of the
document's. That holds when children are matched by different nodes, in document order; XPath promises neither. So a
pattern is cut into pieces, each of them a twig whose order is certain:

- **Elements.** Of the element children of a node one stays; every other one is cut off. If the node is ordered, all
  those on the child axis stay, and the last element on either axis.
- **Attributes.** The first one on the child axis stays; on the descendant axis only if nothing else could.
- **Text nodes** are left out: they take no part in the documents' sequences.

A piece's sequence is that of its twig, followed by the labels of the nodes from which it was cut off, up to the root.
`*` and `@*` are positions that any element, any attribute meets. Value tests are left to verification, and so are
"the very next level", "at the root" and "the first of them": dropping a condition loses no match.

**Why each piece is necessary.** Let node n of a piece be matched by document node d. Claim: by the time d itself is to
be deleted, the document has written n's part of the piece within d's subtree. If nothing of n stays below it, that
part is n's label: d is a leaf, whose artificial child wrote it, or has children, each of which wrote it. Else take
n's remaining children c1, c2, … in this order: attribute, then elements. Each ci is matched by some di below d; its
part was written when di was to be deleted (induction), and after that the child of d that is, or is around, di was
deleted, which wrote d's label. What is left to show is that the child of d around di was deleted before anything of
d(i+1)'s subtree was:

- an attribute on the child axis is a node of d itself, and an element's attributes come before its content;
- elements of an ordered node have d1 < d2 < … in post-order (infra/docs/profile-language.md). Here di is a child of d,
  for only the last ci may be on the descendant axis; d(i+1) lies below d, too, so that it is not around di, and comes
  later: it lies below a later child of d, or is one.

Above the piece, the label of each node from which it was cut off is written when a child of its document node goes,
which is after everything in that child. So the piece's sequence is a subsequence of the document's.

The counter-examples that make the cuts necessary: `//a[b]/c` with <a><c/><b/></a> (another order), `//a[b]/*` with
<a><b/></a> (one node for both), ordered `/a[.//b]/c` with <a><c><b/></c></a> (a `b` inside the `c`), `//a[@x]/@y`
(attributes come in any order), `//a[.//@x]/b` (the attribute may be that of an `a`, a `b`, or of what follows).
"""

from typing import Any, NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.patterns.twigs import ATTRIBUTE, BODY, ELEMENT, FLAGS, KIND, ORDERED, SYMBOL, TESTS, TEXT, Twigs


class Pieces(NamedTuple):
    """Sequence k is `symbols[ends[k]:ends[k + 1]]`; pattern p has those from `patterns[p]` to `patterns[p + 1]`."""

    symbols: Ints  # signed, with the wildcards of `twigs`
    ends: Longs
    patterns: Longs


@kernel
def _stays(twigs: Twigs, parent: int, c: int) -> bool:
    """Whether the child at pool position `c` stays in the piece of its parent."""
    pool, offsets = twigs.pool, twigs.offsets
    at = offsets[parent]
    kind = pool[offsets[pool[c] >> 1] + FLAGS] & KIND
    is_deep = pool[c] & 1 == 1
    stays = kind != TEXT
    for k in range(at + BODY + pool[at + TESTS], offsets[parent + 1]):
        other = pool[offsets[pool[k] >> 1] + FLAGS] & KIND
        if kind == ATTRIBUTE and is_deep:
            beats = other == ELEMENT or (other == ATTRIBUTE and (pool[k] & 1 == 0 or k < c))
        elif kind == ATTRIBUTE:
            beats = other == ATTRIBUTE and pool[k] & 1 == 0 and k < c
        elif pool[at + FLAGS] & ORDERED:
            beats = other == ELEMENT and is_deep and k > c
        else:
            beats = other == ELEMENT and k < c
        stays = stays and not beats
    return bool(stays)


@kernel
def _room(array: Any, size: int) -> Any:
    if array.size >= size:
        return array
    grown = np.empty(2 * size, array.dtype)
    grown[: array.size] = array
    return grown


@kernel
def _write(twigs: Twigs, top: int, stack: Longs, symbols: Ints, used: int) -> int:
    """Append the Pruefer sequence of the piece below twig `top`; the new length.

    Rows of the stack: a twig, how far its children were visited (attributes in a first round, elements in a second),
    and whether one of them stays.
    """
    pool, offsets = twigs.pool, twigs.offsets
    stack[0] = top, 0, 0
    depth = 1
    while depth:
        twig, visited, has_children = stack[depth - 1]
        body = offsets[twig] + BODY + pool[offsets[twig] + TESTS]
        size = offsets[twig + 1] - body
        if visited < 2 * size:
            stack[depth - 1, 1] += 1
            c = body + visited % size
            child = pool[c] >> 1
            is_attribute = pool[offsets[child] + FLAGS] & KIND == ATTRIBUTE
            if is_attribute == (visited < size) and _stays(twigs, twig, c):
                stack[depth - 1, 2] = 1
                stack[depth] = child, 0, 0
                depth += 1
            continue
        depth -= 1
        if not has_children:
            symbols[used] = pool[offsets[twig] + SYMBOL]
            used += 1
        if depth:
            symbols[used] = pool[offsets[stack[depth - 1, 0]] + SYMBOL]
            used += 1
    return used


@kernel
def pieces_of(twigs: Twigs, first: int, last: int, height: int) -> Pieces:
    """The sequences of patterns `first:last`; a pattern about which nothing is certain has one, which is empty."""
    pool, offsets = twigs.pool, twigs.offsets
    symbols = np.empty(1024, np.int32)
    ends = np.zeros(1024, np.int64)
    patterns = np.zeros(last - first + 1, np.int64)
    stack = np.empty((height + 1, 3), np.int64)
    walk = np.empty((height + 1, 2), np.int64)  # a twig on the way down, and its next child
    count = 0
    for pattern in range(first, last):
        root = twigs.roots[pattern]
        walk[0, 0], walk[0, 1] = root, offsets[root] + BODY
        depth = 1
        while depth:
            twig, c = walk[depth - 1]
            if c == offsets[twig + 1]:
                depth -= 1
                continue
            walk[depth - 1, 1] += 1
            child = pool[c] >> 1
            if pool[offsets[child] + FLAGS] & KIND != TEXT and (depth == 1 or not _stays(twigs, twig, c)):
                symbols = _room(symbols, ends[count] + 3 * (height + 1))
                ends = _room(ends, count + 3)
                used = _write(twigs, child, stack, symbols, ends[count])
                for above in range(depth - 1, 0, -1):
                    symbols[used] = pool[offsets[walk[above, 0]] + SYMBOL]
                    used += 1
                count += 1
                ends[count] = used
            walk[depth] = child, offsets[child] + BODY + pool[offsets[child] + TESTS]
            depth += 1
        if count == patterns[pattern - first]:
            ends = _room(ends, count + 3)
            ends[count + 1] = ends[count]
            count += 1
        patterns[pattern - first + 1] = count
    return Pieces(symbols[: ends[count]], ends[: count + 1], patterns)
