"""What libxml2 is asked about a document, here or in a child process: does it hold, and where is the first node?"""

from collections.abc import Callable
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from lxml import etree

from winnow.parsing import parse
from winnow.xpath.libxml2 import Evaluator


class Question(NamedTuple):
    text: str  # of `Compiled.text`, whose cost is bounded
    namespaces: tuple[tuple[str, str], ...]
    selects: bool  # a set of nodes, which has a first one; else a truth value, number or string


class Prepared:
    """A question as libxml2 compiled it; that stays in its process."""

    __slots__ = ("_first", "holds")

    def __init__(self, question: Question) -> None:
        text, namespaces, selects = question
        self.holds = Evaluator(text, namespaces)
        self._first = (
            etree.XPath(f"({text})[1]", namespaces=dict(namespaces) or None, regexp=False) if selects else None
        )

    def first_element(self, root: etree._Element) -> etree._Element:
        """Where it holds: the element that is, or is around, the first node of the set; without a set, the root."""
        found: Any = self._first(root) if self._first else None
        return _element_at(found[0], root) if found else root


def _element_at(node: Any, root: etree._Element) -> etree._Element:
    """The element around an attribute, text, comment or instruction; namespace nodes do not know theirs."""
    if not isinstance(node, etree._Element):
        is_tail = getattr(node, "is_tail", False)
        node = node.getparent() if hasattr(node, "getparent") else root
        if is_tail:
            node = node.getparent()
    while node is not None and not isinstance(node.tag, str):
        node = node.getparent()
    return root if node is None else node


class Document:
    """A document to ask about, parsed on first use. Elements are known by their place in document order, from 0.

    >>> document = Document(b"<a><b/><c/><c/></a>")
    >>> [document.answer(Prepared(Question(text, (), True))) for text in ("//c[not(d)]", "//d[not(c)]")]
    [2, -1]
    """

    def __init__(self, content: bytes) -> None:
        self.content = content

    @cached_property
    def root(self) -> etree._Element:
        return parse(self.content)

    @cached_property
    def _places(self) -> dict[etree._Element, int]:
        return dict(zip(self.root.iter("*"), count()))

    def answer(self, prepared: Prepared, proved: Callable[[], None] | None = None) -> int:
        """The place of the witness, -1 when it does not hold; `proved` is called before the witness is looked for."""
        root = self.root
        if not prepared.holds(root):
            return -1
        if proved:
            proved()
        element = prepared.first_element(root)
        return 0 if element is root else self._places[element]
