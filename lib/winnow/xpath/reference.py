"""The obvious evaluator of patterns over libxml2's tree. Slow on purpose: it explains, and every engine must equal it.

Unordered: each pattern node asks for some document node, independently of its siblings. Ordered (XTrie, §2): the nodes
chosen for the element and text children of one pattern node come in strictly ascending post-order; attributes have no
order and take no part.
"""

from collections import Counter
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
        self.location = ""  # as `winnow.encoding.locate` writes it

    def fits(self, node: Node) -> bool:
        return self.kind is node.kind and node.label in {None, self.label}


def read(tree: etree._Element | etree._ElementTree) -> Doc:
    """The document node. Text nodes are those of XPath: comments and processing instructions separate them."""
    root = tree.getroot() if isinstance(tree, etree._ElementTree) else tree.getroottree().getroot()
    document = Doc(None, None, "", [_element(root)])
    _number(document, 0)
    return document


def _element(element: etree._Element) -> Doc:
    children = [Doc(Kind.ATTRIBUTE, str(name), str(value), []) for name, value in element.attrib.items()]
    if element.text is not None:  # an empty CDATA section alone is an empty text node
        children.append(Doc(Kind.TEXT, None, element.text, []))
    for child in element:
        if isinstance(child.tag, str):
            children.append(_element(child))
        if child.tail is not None:
            children.append(Doc(Kind.TEXT, None, child.tail, []))
    value = "".join(child.value for child in children if child.kind is not Kind.ATTRIBUTE)
    return Doc(Kind.ELEMENT, str(element.tag), value, children)


def _number(doc: Doc, counter: int) -> int:
    seen: Counter[str] = Counter()
    for child in doc.children:
        name = "text()" if child.kind is Kind.TEXT else (child.label or "").replace("{", "Q{", 1)
        seen[name] += 1
        place = "" if doc.kind is None else f"[{seen[name]}]"
        child.location = doc.location + (f"/@{name}" if child.kind is Kind.ATTRIBUTE else f"/{name}{place}")
        counter = _number(child, counter)
    doc.post = counter
    return counter + 1


def reference_match(compiled: Compiled, tree: etree._Element | etree._ElementTree) -> bool:
    """Whether one of the alternatives holds: the answer itself for a native profile, a necessary condition else."""
    document = read(tree)
    return any(pattern_holds(pattern, document) for pattern in compiled.alternatives)


def pattern_holds(pattern: Pattern, document: Doc) -> bool:
    return chosen(pattern.children, document, ordered=pattern.ordered) is not None


def chosen(children: tuple[Node, ...], doc: Doc, *, ordered: bool) -> list[Doc] | None:
    """A document node for each pattern node, or None when there is no such choice.

    Ordered: taking the earliest end that is possible leaves the most room for the next, so no choice is lost.
    """
    picks: list[Doc] = []
    last = -1
    for node in children:
        found = matches(node, doc, ordered=ordered)
        if ordered and node.kind is not Kind.ATTRIBUTE:
            pick = min((match for match in found if match.post > last), key=lambda match: match.post, default=None)
            last = pick.post if pick else last
        else:
            pick = next(found, None)
        if pick is None:
            return None
        picks.append(pick)
    return picks


def matches(node: Node, doc: Doc, *, ordered: bool) -> Iterator[Doc]:
    """The document nodes below `doc` that satisfy a pattern node and all that hangs on it, in document order."""
    fitting = (
        candidate
        for candidate in candidates(node, doc)
        if candidate.fits(node) and chosen(node.children, candidate, ordered=ordered) is not None
    )
    if node.first:
        first = next(fitting, None)
        fitting = (match for match in (first,) if match is not None)
    return (match for match in fitting if all(holds(test, match.value) for test in node.tests))


def candidates(node: Node, doc: Doc) -> Iterator[Doc]:
    """What the axis reaches, in document order."""
    for child in doc.children:
        yield child
        if node.axis is Axis.DESCENDANT:
            yield from candidates(node, child)
