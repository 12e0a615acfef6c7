"""Hybrid profiles: the index has said which documents could satisfy them; libxml2 says which do."""

from typing import Any

import numpy as np
from lxml import etree

from winnow.encoding import EncodedBatch
from winnow.engines.twigs import Ints
from winnow.xpath.compiled import Class, Compiled
from winnow.xpath.libxml2 import Evaluator


class HybridProfile:
    """Compiled on first use: most profiles never meet a document that their relaxation lets through."""

    __slots__ = ("_compiled", "_decide", "_first")

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._decide: Evaluator | None = None
        self._first: etree.XPath | None = None

    def __reduce__(self) -> "tuple[type[HybridProfile], tuple[Compiled]]":
        """What libxml2 compiled stays in its process; another one compiles anew."""
        return HybridProfile, (self._compiled,)

    def holds(self, root: etree._Element) -> bool:
        if self._decide is None:
            text, namespaces = self._compiled.text, self._compiled.namespaces
            self._decide = Evaluator(text, namespaces)
            # Of the rewritten text, because only its cost is bounded.
            self._first = etree.XPath(f"({text})[1]", namespaces=dict(namespaces) or None, regexp=False)
        return self._decide(root)

    def first_element(self, root: etree._Element) -> etree._Element:
        """After `holds`: the element that is, or is around, the first node of the set; the root element without one."""
        found: Any = None
        if self._first is not None:
            try:
                found = self._first(root)
            except etree.XPathEvalError:
                self._first = None  # not a node set but a truth value, number or string, which has no first node
        return _element_at(found[0], root) if found and isinstance(found, list) else root


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


class DocumentTree:
    """One document parsed by libxml2, with the way from its elements to the nodes of the batch."""

    def __init__(self, root: etree._Element, batch: EncodedBatch, nodes: range, symbols: Ints) -> None:
        self.root = root
        self._source = batch, nodes, symbols
        self._nodes: dict[etree._Element, int] = {}

    def node_of(self, element: etree._Element) -> int:
        batch, nodes, symbols = self._source
        if not self._nodes:
            elements = nodes.start + np.flatnonzero(symbols[batch.path[nodes.start : nodes.stop]] > 0)
            self._nodes = dict(zip(self.root.iter("*"), elements.tolist(), strict=True))
        return self._nodes[element]


def hybrid_of(compiled: Compiled) -> HybridProfile | None:
    return HybridProfile(compiled) if compiled.klass is Class.HYBRID else None
