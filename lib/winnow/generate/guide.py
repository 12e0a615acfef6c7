"""What profiles are made from: which labels stand below which, with which attributes and values.

A guide comes from a DTD, where it may have cycles, or from sample documents, where it is the tree of their paths.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from lxml import etree

from winnow.generate.dtd import Dtd, children
from winnow.generate.values import Values, zipf
from winnow.parsing import parse

LONGEST_VALUE = 60
_KEPT_VALUES = 50  # of one place in the samples
_UNASKED = {"entity", "entities", "notation"}

Draw = Callable[[int, str, Random], str]


class Place(NamedTuple):
    name: str  # as a profile writes it, with a prefix of the guide
    below: tuple[int, ...]  # places; the first are the likeliest
    attributes: tuple[str, ...]
    has_text: bool


class Guide(NamedTuple):
    places: list[Place]  # the first is the root's
    namespaces: dict[str, str]
    draw: Draw  # a value of the text, or of the attribute that is named, of a place


def guide_of_dtd(dtd: Dtd, values: Values) -> Guide:
    names, numbers = _Names(), {(dtd.root, ""): 0}
    bindings = {prefix: uri for e in dtd.elements.values() for prefix, uri in e.namespaces.items() if prefix}
    places: list[Place] = []
    kinds: list[dict[str, Callable[[Random], str]]] = []
    order = [(dtd.root, "")]
    while len(places) < len(order):
        label, inherited = order[len(places)]
        element = dtd.elements[label]
        default = element.namespaces.get("", inherited)
        below = [(name, default) for name in children(element) if name in dtd.elements]
        order += [key for key in dict.fromkeys(below) if key not in numbers]
        numbers |= {key: number for number, key in enumerate(order) if key not in numbers}
        asked = [a for a in element.attributes if a.name.split(":")[0] != "xmlns" and a.kind not in _UNASKED]
        draws = {
            names.of(a.name, bindings, ""): _drawing(a.choices, a.kind, f"{label}/{a.name}", values) for a in asked
        }
        kinds.append(draws | {"": _drawing((), "text", label, values)})
        name = names.of(label, bindings, default)
        places.append(Place(name, tuple(numbers[key] for key in below), tuple(draws), element.has_text))
    return Guide(places, names.namespaces, lambda place, attribute, r: kinds[place][attribute](r))


def _drawing(choices: tuple[str, ...], kind: str, label: str, values: Values) -> Callable[[Random], str]:
    if choices:
        return lambda r: r.choices(choices, cum_weights=zipf(len(choices), 1.0))[0]
    if kind in {"id", "idref", "idrefs"}:
        return lambda r: f"i{r.randint(1, 30)}"
    return lambda r: values.draw(label, r)


def guides_of_documents(contents: Iterable[bytes]) -> list[Guide]:
    """One guide for each root label of the samples."""
    return [found.guide() for found in _observe(contents).values()]


class _Observed:
    def __init__(self) -> None:
        self.names = _Names()
        self.labels: list[str] = []
        self.below: list[Counter[int]] = []
        self.values: list[dict[str, Counter[str]]] = []  # by attribute; "" is text
        self._numbers: dict[tuple[int, str], int] = {}

    def look(self, element: etree._Element, above: int) -> None:
        """Without recursion: documents may be deep."""
        waiting = [(element, above)]
        while waiting:
            element, above = waiting.pop()
            number = self._number(above, element.tag)
            for name, value in element.items():
                self._take(number, self.names.of_tag(str(name)), str(value))
            if element.text and not element.text.isspace():
                self._take(number, "", element.text)
            waiting += [(child, number) for child in reversed(element) if isinstance(child.tag, str)]

    def guide(self) -> Guide:
        places = [
            Place(label, tuple(n for n, _ in below.most_common()), tuple(k for k in values if k), "" in values)
            for label, below, values in zip(self.labels, self.below, self.values, strict=True)
        ]
        seen = [{key: list(counts.elements()) for key, counts in values.items()} for values in self.values]
        return Guide(places, self.names.namespaces, lambda place, attribute, r: r.choice(seen[place][attribute]))

    def _number(self, above: int, tag: str) -> int:
        key = above, tag
        if key not in self._numbers:
            self._numbers[key] = len(self.labels)
            self.labels.append(self.names.of_tag(tag))
            self.below.append(Counter())
            self.values.append({})
        number = self._numbers[key]
        if above >= 0:
            self.below[above][number] += 1
        return number

    def _take(self, number: int, attribute: str, value: str) -> None:
        counts = self.values[number].setdefault(attribute, Counter())
        if value in counts or len(counts) < _KEPT_VALUES:
            counts[value] += 1


def _observe(contents: Iterable[bytes]) -> dict[str, _Observed]:
    found: dict[str, _Observed] = {}
    for content in contents:
        root = parse(content)
        found.setdefault(root.tag, _Observed()).look(root, -1)
    return found


class _Names:
    """Names as profiles write them: where a document has a default namespace, a profile needs a prefix."""

    def __init__(self) -> None:
        self.namespaces: dict[str, str] = {}

    def of(self, label: str, bindings: dict[str, str], default: str) -> str:
        prefix, _, local = label.rpartition(":")
        uri = bindings.get(prefix, "") if prefix else default
        return label if prefix == "xml" else self._name(uri, local)

    def of_tag(self, tag: str) -> str:
        name = etree.QName(tag)
        is_xml = name.namespace == "http://www.w3.org/XML/1998/namespace"
        return f"xml:{name.localname}" if is_xml else self._name(name.namespace or "", name.localname)

    def _name(self, uri: str, local: str) -> str:
        if not uri:
            return local
        prefix = next((known for known, bound in self.namespaces.items() if bound == uri), "")
        if not prefix:
            prefix = f"n{len(self.namespaces) + 1}"
            self.namespaces[prefix] = uri
        return f"{prefix}:{local}"
