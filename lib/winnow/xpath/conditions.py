"""Conditions on one context node, as alternatives of conjunctions: what a piece of XPath comes to.

An `Alt` says what must hold at the context node, below it, at its parent, at some ancestor, and from the document node.
A location path is turned into alternatives from its last step to its first: each step wraps the conditions on the node
it reaches into conditions on the node it starts from. A step back to the parent therefore meets the step that led down,
and both become one: `a/b[../c]` is `a[b][c]`.
"""

from typing import Final, NamedTuple

from winnow.xpath import canonical, values
from winnow.xpath.pattern import Axis, Kind, Node, Test

DOCUMENT: Final = 3  # a fourth kind of context node, beside the kinds of pattern nodes


class Alt(NamedTuple):
    kind: int | None = None  # None: any
    label: str | None = None
    tests: tuple[Test, ...] = ()
    nodes: tuple[Node, ...] = ()  # below the context node
    root: tuple[Node, ...] = ()  # below the document node
    up: "Alt | None" = None  # at the parent
    above: tuple["Alt", ...] = ()  # each at some ancestor


Alts = tuple[Alt, ...]

TRUE: Final[Alt] = Alt()
ALWAYS: Final[Alts] = (TRUE,)
NEVER: Final[Alts] = ()


class TooManyError(Exception):
    """The alternatives multiply beyond the limit."""


class Algebra:
    """Conjunction and wrapping, in canonical or in source order."""

    __slots__ = ("limit", "ordered")

    def __init__(self, limit: int, ordered: bool) -> None:
        self.limit = limit
        self.ordered = ordered

    def both(self, one: Alts, two: Alts) -> Alts:
        """Distributes `and` over `or`."""
        if one is ALWAYS or not two:
            return two
        if two is ALWAYS or not one:
            return one
        if len(one) * len(two) > self.limit:
            raise TooManyError
        met = (self.meet(left, right) for left in one for right in two)
        return tuple(alt for alt in met if alt is not None)

    def either(self, one: Alts, two: Alts) -> Alts:
        if ALWAYS in (one, two):
            return ALWAYS
        if len(one) + len(two) > self.limit:
            raise TooManyError
        return tuple(dict.fromkeys(one + two))

    def meet(self, one: Alt, two: Alt) -> Alt | None:
        """Both hold at the same context node; None when that cannot be."""
        if one == TRUE:
            return two
        if two == TRUE:
            return one
        kind = one.kind if one.kind is not None else two.kind
        if two.kind is not None and two.kind != kind:
            return None
        if one.label and two.label and one.label != two.label:
            return None
        nodes = one.nodes + two.nodes
        if nodes and kind in {Kind.ATTRIBUTE, Kind.TEXT}:
            return None
        up = one.up
        if up is None:
            up = two.up
        elif two.up is not None:
            up = self.meet(up, two.up)
            if up is None:
                return None
        tests = one.tests + two.tests
        return Alt(kind, one.label or two.label, tests, nodes, one.root + two.root, up, one.above + two.above)

    def child(self, kind: Kind, label: str | None, alts: Alts) -> Alts:
        """Some child (attribute, text) of the context node meets one of `alts`."""
        return self._wrap(Axis.CHILD, kind, label, alts)

    def descendant(self, kind: Kind, label: str | None, alts: Alts) -> Alts:
        return self._wrap(Axis.DESCENDANT, kind, label, alts)

    def _wrap(self, axis: Axis, kind: Kind, label: str | None, alts: Alts) -> Alts:
        found: list[Alt] = []
        for alt in alts:
            if (alt.kind is not None and alt.kind != kind) or (alt.label and label and alt.label != label):
                continue
            name = label or alt.label
            if (alt.nodes and kind is not Kind.ELEMENT) or (alt.label and kind is not Kind.ELEMENT):
                continue
            tests = values.conjunction(alt.tests)
            if tests is None:
                continue
            children = alt.nodes
            if len(children) > 1:
                children = canonical.ordered(children) if self.ordered else canonical.siblings(children)
            node = Node(axis, kind, name, tests, children)
            if alt.up is None and not alt.above:
                if name is None and not self.ordered:
                    node = canonical.element(node)
                found.append(Alt(None, None, (), (node,), alt.root))
            elif axis is Axis.CHILD:
                found += self._child_seen_from_below(node, alt)
            else:
                found += self._descendant_seen_from_below(node, alt)
            if len(found) > self.limit:
                raise TooManyError
        return tuple(found)

    def _child_seen_from_below(self, node: Node, alt: Alt) -> Alts:
        """The child looks back: its parent is the context node, its other ancestors are the context node's."""
        alts: Alts = (Alt(nodes=(node,), root=alt.root),)
        if alt.up is not None:
            alts = self.both(alts, (alt.up,))
        for ancestor in alt.above:
            alts = self.both(alts, (ancestor, Alt(above=(ancestor,))))
        return alts

    def _descendant_seen_from_below(self, node: Node, alt: Alt) -> Alts:
        """A descendant is a child of the context node, or a child of a descendant element of it; and an ancestor of a
        descendant is the context node, an element between, or an ancestor of the context node."""
        if alt.up is not None:
            near = self._child_seen_from_below(node._replace(axis=Axis.CHILD), alt)
            return near + self.descendant(Kind.ELEMENT, None, near)
        ancestor, *others = alt.above
        rest = Alt(nodes=(node,), root=alt.root)
        seen = self._descendant_seen_from_below(node, Alt(root=alt.root, above=tuple(others))) if others else (rest,)
        at_ancestor = self.both(seen, (ancestor,))
        between = self.descendant(Kind.ELEMENT, None, at_ancestor)
        return at_ancestor + between + self.both(seen, (Alt(above=(ancestor,)),))

    def at_document(self, alts: Alts) -> Alts:
        """Conditions on the document node, as conditions from the document node."""
        found: list[Alt] = []
        for alt in alts:
            if alt.kind not in {None, DOCUMENT} or alt.label or alt.up is not None or alt.above:
                continue
            # The document's string-value is its root element's.
            tests = (Node(Axis.CHILD, Kind.ELEMENT, None, alt.tests),) if alt.tests else ()
            found.append(Alt(root=alt.root + tests + alt.nodes))
        return tuple(found)

    def at_root_element(self, alts: Alts) -> Alts:
        """Conditions on the root element, as conditions from the document node."""
        return self.at_document(self.child(Kind.ELEMENT, None, alts))
