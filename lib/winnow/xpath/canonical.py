"""Canonical patterns: equal meaning gives an equal tuple, so that profiles share work.

All rules hold for unordered, homomorphic matching: two branches may be proved by one node. A branch that follows from
its sibling is dropped, a chain of bare wildcards is written one way, and all child steps from the document node are
one step, because a document has one root element.
"""

from winnow.xpath import values
from winnow.xpath.pattern import Axis, Kind, Node, Pattern, Test

Key = tuple[object, ...]
# More alternatives than this are not compared with each other: the pairs would cost more than they save.
_COMPARED = 16


def sort_key(node: Node) -> Key:
    """Total order; `label` None (the wildcard) cannot be compared with a string."""
    return (
        node.axis,
        node.kind,
        node.label or "",
        node.tests,
        tuple(map(sort_key, node.children)),
        node.first,
    )


def follows(known: Node, asked: Node) -> bool:
    """Below every node that has `known`, there is `asked` too (a sufficient rule: a homomorphism exists)."""
    return _follows(known, asked, known.axis is Axis.DESCENDANT, {})


# What was found for two nodes, and whether the known one may be at any depth; without it, `//a//a//a…` is exponential.
_Memo = dict[tuple[int, int, bool], bool]


def _follows(known: Node, asked: Node, deep: bool, memo: _Memo) -> bool:
    key = (id(known), id(asked), deep)
    found = memo.get(key)
    if found is None:
        found = memo[key] = _fits(known, asked, deep, memo) or _fits_below(known, asked, memo)
    return found


def _fits(known: Node, asked: Node, deep: bool, memo: _Memo) -> bool:
    """`asked` can be where `known` is."""
    if asked.kind is not known.kind or (asked.axis is Axis.CHILD and deep):
        return False
    if asked.label is not None and asked.label != known.label:
        return False
    if asked.first:  # which node is the first depends on everything that is asked of it
        return known._replace(axis=Axis.DESCENDANT if deep else Axis.CHILD) == asked
    if not all(any(values.implies(have, want) for have in known.tests) for want in asked.tests):
        return False
    for want in asked.children:
        for have in known.children:
            if _follows(have, want, have.axis is Axis.DESCENDANT, memo):
                break
        else:
            return False
    return True


def _fits_below(known: Node, asked: Node, memo: _Memo) -> bool:
    """Below `known` is below its parent as well; an attribute on a descendant counts, too."""
    if asked.axis is Axis.CHILD or asked.first:
        return False
    for child in known.children:  # noqa: SIM110 - one frame less for each level of a long pattern
        if _follows(child, asked, True, memo):
            return True
    return False


def siblings(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Sorted, without duplicates and without what follows from another."""
    if len(nodes) < 2:
        return nodes
    heads = {(node.axis, node.kind, node.label or ""): node for node in nodes}
    if len(heads) == len(nodes) and all(not axis and label for axis, _, label in heads):
        return tuple(heads[head] for head in sorted(heads))  # children with different names imply nothing
    unique = sorted(set(nodes), key=sort_key)
    return tuple(
        node
        for i, node in enumerate(unique)
        if not any(
            follows(other, node) and (j < i or not follows(node, other)) for j, other in enumerate(unique) if j != i
        )
    )


def element(node: Node) -> Node:
    """One way to write bare wildcards: `//*/a`, `//*//a` and `/*//a` all mean "at least two levels down"."""
    if node.label is not None or node.axis is Axis.CHILD or node.tests or node.kind is not Kind.ELEMENT:
        return node
    if not node.children:  # some element below means some child element
        return node._replace(axis=Axis.CHILD)
    if len(node.children) == 1 and not node.children[0].first:
        below = element(node.children[0]._replace(axis=Axis.DESCENDANT))
        return Node(Axis.CHILD, Kind.ELEMENT, None, (), (below,))
    return node


def document(nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The children of the document node, unordered; None when no document can have them all."""
    roots = [node for node in nodes if node.axis is Axis.CHILD]
    others = [node for node in nodes if node.axis is Axis.DESCENDANT]
    label: str | None = None
    tests: tuple[Test, ...] = ()
    below: tuple[Node, ...] = ()
    for root in roots:
        if root.kind is not Kind.ELEMENT or (label is not None and root.label not in {None, label}):
            return None
        label = label or root.label
        tests += root.tests
        below += root.children
    merged = values.conjunction(tests)
    if merged is None:
        return None
    # An attribute or text anywhere is on or below the root element: the same thing, asked of the document.
    loose = [node for node in others if node.kind is not Kind.ELEMENT]
    below = siblings((*below, *loose))
    if label is None and not merged:
        lifted = tuple(node for node in below if node.axis is Axis.DESCENDANT and node.kind is not Kind.ELEMENT)
        below = tuple(node for node in below if node not in lifted)
    else:
        lifted = ()
    found = [node for node in others if node.kind is Kind.ELEMENT]
    if label is not None or merged or below:
        found.append(Node(Axis.CHILD, Kind.ELEMENT, label, merged, below))
    return siblings((*found, *lifted))


def ordered_document(nodes: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """As `document`, in source order: the root steps become one, everything else stays."""
    if len(nodes) < 2:
        return nodes
    if any(node.axis is not Axis.CHILD for node in nodes):
        raise ValueError("several branches from the document node have no order")
    merged = nodes[0]
    for node in nodes[1:]:
        tests = values.conjunction(merged.tests + node.tests)
        if tests is None or (merged.label and node.label and merged.label != node.label):
            return None
        merged = Node(
            Axis.CHILD, Kind.ELEMENT, merged.label or node.label, tests, ordered(merged.children + node.children)
        )
    return (merged,)


def ordered(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Attributes first (they have no order in XML), each once; then the others as they came."""
    if len(nodes) < 2:
        return nodes
    attributes = siblings(tuple(node for node in nodes if node.kind is Kind.ATTRIBUTE))
    return attributes + tuple(node for node in nodes if node.kind is not Kind.ATTRIBUTE)


def alternatives(patterns: list[Pattern]) -> tuple[Pattern, ...]:
    """Sorted, without duplicates and without patterns that another one already covers."""
    if len(patterns) < 2:
        return tuple(patterns)
    unique = sorted(set(patterns), key=lambda pattern: tuple(map(sort_key, pattern.children)))
    if unique[0].ordered or len(unique) > _COMPARED:
        return tuple(unique)
    return tuple(
        pattern
        for i, pattern in enumerate(unique)
        if not any(
            _covers(other, pattern) and (j < i or not _covers(pattern, other))
            for j, other in enumerate(unique)
            if j != i
        )
    )


def _covers(wide: Pattern, narrow: Pattern) -> bool:
    return all(any(follows(have, want) for have in narrow.children) for want in wide.children)
