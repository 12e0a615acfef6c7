"""Patterns for people: as one line of XPath-like text, and branch by branch."""

from collections.abc import Iterable

from winnow.xpath.pattern import Axis, Kind, Node, Op, Pattern, Test
from winnow.xpath.printer import quoted

_SIGNS = {Op.EQ: "=", Op.NE: "!=", Op.NUM_EQ: "=", Op.NUM_NE: "!=", Op.LT: "<", Op.LE: "<=", Op.GT: ">", Op.GE: ">="}


def pattern_text(pattern: Pattern, namespaces: Iterable[tuple[str, str]] = ()) -> str:
    """The whole twig; names are expanded unless `namespaces` has a prefix; `[first: …]` tests only the first such node.

    >>> from winnow.xpath.compiled import compile_profile
    >>> pattern_text(compile_profile("/a[b = 'x'][@c]//d").alternatives[0])
    "/a[b[. = 'x']][@c]//d"
    """
    if not pattern.children:
        return "always"
    return _shortened(" and ".join(_node(node, leading=True) for node in pattern.children), namespaces)


def branches(pattern: Pattern, namespaces: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """One root-to-leaf line for each leaf.

    >>> from winnow.xpath.compiled import compile_profile
    >>> branches(compile_profile("/a[b = 'x'][@c]//d").alternatives[0])
    ("/a/b[. = 'x']", '/a/@c', '/a//d')
    """
    return tuple(_shortened(line, namespaces) for node in pattern.children for line in _lines(node))


def _shortened(text: str, namespaces: Iterable[tuple[str, str]]) -> str:
    for prefix, uri in namespaces:
        text = text.replace(f"{{{uri}}}", f"{prefix}:")
    return text


def _lines(node: Node) -> list[str]:
    own = _step(node, leading=True)
    return [own + line for child in node.children for line in _lines(child)] or [own]


def _node(node: Node, *, leading: bool) -> str:
    """The last child is written as the next step, the others in brackets."""
    text = _step(node, leading=leading)
    while node.children:
        for child in node.children[:-1]:
            text += f"[{_node(child, leading=False)}]"
        node = node.children[-1]
        text += _step(node, leading=True)
    return text


def _step(node: Node, *, leading: bool) -> str:
    slashes = "//" if node.axis is Axis.DESCENDANT else "/" if leading else ""
    if slashes == "//" and not leading:
        slashes = ".//"
    name = "text()" if node.kind is Kind.TEXT else node.label or "*"
    own = f"{slashes}{'@' if node.kind is Kind.ATTRIBUTE else ''}{name}"
    for test in node.tests:
        own += f"[{'first: ' if node.first else ''}{_test(test)}]"
    return own


def _test(test: Test) -> str:
    operand = quoted(test.operand) if isinstance(test.operand, str) else f"{test.operand:.17g}"
    if test.op in {Op.CONTAINS, Op.STARTS_WITH}:
        return f"{test.op.name.lower().replace('_', '-')}(., {operand})"
    return f". {_SIGNS[test.op]} {operand}"
