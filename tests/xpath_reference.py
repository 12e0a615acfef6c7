"""The obvious evaluator of patterns over lxml trees: the twin every engine must equal. Slow on purpose.

Unordered: each pattern node asks for some document node, independently of its siblings. Ordered (XTrie, §2): the nodes
chosen for the element and text children of one pattern node come in strictly ascending post-order; attributes have no
order and take no part.
"""

from collections.abc import Iterator

from lxml import etree

from winnow.xpath.compiled import Compiled
from winnow.xpath.pattern import Axis, Kind, Node, Pattern
from winnow.xpath.values import holds


class Doc:
    """One document node of any kind, with what the patterns need: kind, label, string-value, children, order."""

    def __init__(self, kind: Kind | None, label: str | None, value: str, children: list["Doc"]) -> None:
        self.kind = kind
        self.label = label
        self.value = value
        self.children = children
        self.post = 0


def read(tree: etree._Element | etree._ElementTree) -> Doc:
    """The document node. Text nodes are those of XPath: comments and processing instructions separate them."""
    root = tree.getroot() if isinstance(tree, etree._ElementTree) else tree.getroottree().getroot()
    document = Doc(None, None, "", [_element(root)])
    _number(document, 0)
    return document


def _element(element: etree._Element) -> Doc:
    children = [Doc(Kind.ATTRIBUTE, name, value, []) for name, value in element.attrib.items()]
    if element.text:
        children.append(Doc(Kind.TEXT, None, element.text, []))
    for child in element:
        if isinstance(child.tag, str):
            children.append(_element(child))
        if child.tail:
            children.append(Doc(Kind.TEXT, None, child.tail, []))
    value = "".join(child.value for child in children if child.kind is not Kind.ATTRIBUTE)
    return Doc(Kind.ELEMENT, element.tag, value, children)


def _number(doc: Doc, counter: int) -> int:
    for child in doc.children:
        counter = _number(child, counter)
    doc.post = counter
    return counter + 1


def reference_match(compiled: Compiled, tree: etree._Element | etree._ElementTree) -> bool:
    """Whether one of the alternatives holds: the answer itself for a native profile, a necessary condition else."""
    document = read(tree)
    return any(pattern_holds(pattern, document) for pattern in compiled.alternatives)


def pattern_holds(pattern: Pattern, document: Doc) -> bool:
    return _children_hold(pattern.children, document, pattern.ordered)


def _children_hold(children: tuple[Node, ...], doc: Doc, ordered: bool) -> bool:
    last = -1
    for node in children:
        found = list(_matches(node, doc, ordered))
        if ordered and node.kind is not Kind.ATTRIBUTE:
            found = [match for match in found if match.post > last]
            last = min((match.post for match in found), default=0)
        if not found:
            return False
    return True


def _matches(node: Node, doc: Doc, ordered: bool) -> Iterator[Doc]:
    fitting = (
        candidate
        for candidate in _candidates(node, doc)
        if candidate.kind is node.kind
        and node.label in {None, candidate.label}
        and _children_hold(node.children, candidate, ordered)
    )
    if node.first:
        first = next(fitting, None)
        fitting = iter(()) if first is None else iter((first,))
    return (match for match in fitting if all(holds(test, match.value) for test in node.tests))


def _candidates(node: Node, doc: Doc) -> Iterator[Doc]:
    for child in doc.children:
        yield child
        if node.axis is Axis.DESCENDANT:
            yield from _candidates(node, child)
