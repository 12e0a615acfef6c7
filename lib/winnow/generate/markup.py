"""Write a tree of elements as XML, with texts and attributes that its DTD allows."""

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from winnow.errors import UsageError
from winnow.generate.dtd import Attribute, Element
from winnow.generate.values import Values, zipf

UNSUPPORTED = {"entity", "entities"}  # kinds of attributes


class Node(NamedTuple):
    element: Element
    content: list[Any]  # nodes, and lists of them where the DTD allows more


class Writer:
    def __init__(self, values: Values, share: float, identified: int, r: Random) -> None:
        self._values, self._share, self._identified, self._r = values, share, identified, r
        self._next = 0

    def write(self, node: Node, out: list[str]) -> None:
        element = node.element
        out.append(f"<{element.name}")
        for attribute in element.attributes:
            value = self._value(element, attribute)
            if value is not None:
                out.append(
                    f' {attribute.name}="{value}"' if value.isalnum() else f" {attribute.name}={quoteattr(value)}"
                )
        below = list(_flat(node.content))
        if not below and not element.has_text:
            out.append("/>")
            return
        out.append(">")
        for child in below:
            if not element.has_text:
                out.append("\n")
            elif self._r.random() < 0.5:
                out.append(self._values.draw(element.name, self._r))
            self.write(child, out)
        if element.has_text:
            out.append(self._values.draw(element.name, self._r))
        out.append(f"</{element.name}>")

    def _value(self, element: Element, attribute: Attribute) -> str | None:
        """None: the attribute is left out. An ID never is, so that there is something to refer to."""
        if attribute.kind == "id":
            self._next += 1
            return f"i{self._next}"
        if attribute.use == "fixed" or (attribute.value is not None and attribute.name.startswith("xmlns")):
            return attribute.value
        is_reference = attribute.kind in {"idref", "idrefs"}
        if is_reference and not self._identified and attribute.use == "required":
            words = f"{element.name}/@{attribute.name} must refer to an ID, but no element of a document has one"
            raise UsageError("no_id", words, hint="try more elements or another seed")
        left_out = attribute.use != "required" and self._r.random() >= self._share
        if left_out or attribute.kind in UNSUPPORTED or (is_reference and not self._identified):
            return None
        if is_reference:
            return f"i{self._r.randint(1, self._identified)}"
        if attribute.choices:
            return self._r.choices(attribute.choices, cum_weights=zipf(len(attribute.choices), 1.0))[0]
        return self._values.draw(f"{element.name}/{attribute.name}", self._r)


def _flat(content: list[Any]) -> Iterator[Node]:
    for part in content:
        if isinstance(part, Node):
            yield part
        else:
            yield from _flat(part)
