"""The pattern: canonical twig of a profile's XPath, shared by the language, the engines and the verification.

A pattern is an existential tree: the document node (implicit) must have, below it, nodes that satisfy every `Node` of
`Pattern.children`, each of which must have below it nodes that satisfy all of *its* children, and so on. There is no
"result" node: a match is true or false, so the spine of an XPath and its predicates are the same thing.

A profile is true for a document when at least one of its alternative patterns holds.
"""

from enum import IntEnum
from typing import NamedTuple


class Axis(IntEnum):
    CHILD = 0
    DESCENDANT = 1  # any depth >= 1 below the parent; for attributes: on the parent itself or on any element below it


class Kind(IntEnum):
    ELEMENT = 0
    ATTRIBUTE = 1
    TEXT = 2


class Op(IntEnum):
    """Tests on a node's string-value (all descendant text of an element; the value of an attribute or text node)."""

    EQ = 0  # strings
    NE = 1
    NUM_EQ = 2  # number(string-value), XPath 1.0 as libxml2 computes it; NaN equals nothing and differs from everything
    NUM_NE = 3
    LT = 4
    LE = 5
    GT = 6
    GE = 7
    CONTAINS = 8
    STARTS_WITH = 9


class Test(NamedTuple):
    op: Op
    operand: str | float  # str for EQ, NE, CONTAINS, STARTS_WITH; float (never NaN) for the numeric ones


class Node(NamedTuple):
    """One step of the twig.

    `first`: the tests apply only to the first such node in document order below the parent's match (the meaning of
    `contains(a, 'x')`, which converts a node set to the string-value of its first node), not to any of them. "Such" is
    a node that fits axis, kind, label and `children`: `contains(a[@k], 'x')` looks at the first `a` that has a `k`.
    """

    axis: Axis
    kind: Kind
    label: str | None  # expanded name `{uri}local` or `local`; None is `*` (`@*`), and always None for TEXT
    tests: tuple[Test, ...] = ()
    children: tuple["Node", ...] = ()
    first: bool = False


class Pattern(NamedTuple):
    """`children` (of the pattern and of every node) in canonical order, sorted and without duplicates.

    When `ordered`: attributes first, they take no part in the order; then the others in source order, to be matched by
    document nodes in strictly ascending post-order.
    """

    children: tuple[Node, ...]
    ordered: bool = False
