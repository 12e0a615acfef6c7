"""Documents from a DTD: valid, of about the wanted size, never deeper than allowed, whatever the DTD.

A document starts with the least that its DTD requires. Then it grows: one of the places where the DTD lets something be
repeated or added gets one more, again and again, until there are enough elements. What would not fit below the depth
bound is never begun. What the DTD names first, in a choice or a sequence, is taken more often (Zipf): as in real
documents, few paths come again and again, and many are rare.
"""

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from winnow.errors import UsageError
from winnow.generate.dtd import Dtd, Kind, Particle
from winnow.generate.least import Least
from winnow.generate.markup import UNSUPPORTED, Node, Writer
from winnow.generate.values import Values, zipf

SIZES = {"small": 30, "medium": 100, "large": 1000}
MAX_DEPTH = 100
_SHALLOW = 3  # slots are listed as they come: the higher, the more often one of the first, which are near the root
_RANKS = 20  # of optional parts: later ones are as rare as the last


class DocumentOptions(NamedTuple):
    elements: int = SIZES["medium"]  # about: each document has up to a fifth more or less, if its DTD allows
    depth: int = 16
    skew: float = 1.5  # of choices between elements, and of what is optional
    attributes: float = 0.5  # probability of one that may be missing


class _Slot(NamedTuple):
    """A place that may take one more of a part."""

    content: list[Any]
    part: Particle
    depth: int  # levels that are left
    rank: int  # among the parts of its model


class DocumentMaker:
    """The document of a number is the same however many are made, in whatever order or process."""

    def __init__(self, dtd: Dtd, values: Values, options: DocumentOptions, seed: int) -> None:
        self.dtd, self._values, self._options, self._seed = dtd, values, options, seed
        self.least = Least(dtd)
        _check(dtd, options, self.least)
        self.shares = [(rank + 1) ** -options.skew for rank in range(_RANKS)]
        self._fitting: dict[tuple[int, int], tuple[Sequence[Particle], tuple[float, ...]]] = {}

    def make(self, number: int) -> bytes:
        r = Random(f"document/{self.dtd.name}/{self._seed}/{number}")
        growth = _Growth(self, r, int(self._options.elements * r.uniform(0.8, 1.2)))
        root = growth.element(self.dtd.root, self._options.depth)
        while growth.size < growth.wanted and growth.slots:
            growth.grow()
        out: list[str] = []
        Writer(self._values, self._options.attributes, growth.identified, r).write(root, out)
        out.append("\n")
        return "".join(out).encode()

    def fitting(self, choice: Particle, depth: int) -> tuple[Sequence[Particle], tuple[float, ...]]:
        """Alternatives that can be finished within `depth` levels, and their weights."""
        key = id(choice), depth
        if key not in self._fitting:
            parts = [part for part in choice.parts if self.least.height(part) <= depth]
            self._fitting[key] = parts, zipf(len(parts), self._options.skew)
        return self._fitting[key]


class _Growth:
    def __init__(self, maker: DocumentMaker, r: Random, wanted: int) -> None:
        self._maker, self._r, self.wanted = maker, r, wanted
        self.slots: list[_Slot] = []
        self.size = 0
        self.identified = 0  # elements with an ID

    def element(self, name: str, depth: int) -> Node:
        element = self._maker.dtd.elements[name]
        self.size += 1
        self.identified += any(attribute.kind == "id" for attribute in element.attributes)
        content: list[Any] = []
        if element.model:
            self._part(element.model, depth - 1, content)
        return Node(element, content)

    def grow(self) -> None:
        """What stands first in a model is taken more often: most slots that are drawn are refused again."""
        place = int(self._r.random() ** _SHALLOW * len(self.slots))
        slot = self.slots[place]
        if self._r.random() > self._maker.shares[min(slot.rank, len(self._maker.shares) - 1)]:
            return
        if not slot.part.many:
            self.slots[place] = self.slots[-1]
            self.slots.pop()
        self._once(slot.part, slot.depth, slot.content)

    def _part(self, part: Particle, depth: int, out: list[Any], rank: int = 0) -> None:
        if not (part.optional or part.many):
            self._once(part, depth, out)
            return
        content: list[Any] = []
        out.append(content)
        if not part.optional:
            self._once(part, depth, content)
        if self._maker.least.height_once(part) <= depth:
            self.slots.append(_Slot(content, part, depth, rank))

    def _once(self, part: Particle, depth: int, out: list[Any]) -> None:
        if part.kind == Kind.NAME:
            out.append(self.element(part.name, depth))
        elif part.kind == Kind.SEQUENCE:
            for rank, each in enumerate(part.parts):
                self._part(each, depth, out, rank)
        else:
            parts, weights = self._maker.fitting(part, depth)
            if self.size < self.wanted:
                chosen = self._r.choices(parts, cum_weights=weights)[0]
            else:  # choices that are required could go on for ever
                chosen = min(parts, key=self._maker.least.size)
            self._part(chosen, depth, out)


def make_documents(makers: Sequence[DocumentMaker], numbers: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """(file name, bytes); several DTDs take turns."""
    for number in numbers:
        maker = makers[number % len(makers)]
        yield f"{maker.dtd.name}-{number:07d}.xml", maker.make(number)


def _check(dtd: Dtd, options: DocumentOptions, least: Least) -> None:
    needed = least.heights[dtd.root]
    if needed == float("inf"):
        words = f"no document of {dtd.name} can be finished: <{dtd.root}> must hold itself, or what is not declared"
        raise UsageError("endless_dtd", words, hint="choose another --root")
    if options.depth < needed or options.depth > MAX_DEPTH:
        words = f"depth {options.depth}, but documents of {dtd.name} need {needed} levels; at most {MAX_DEPTH} are made"
        raise UsageError("bad_depth", words, hint="give another --depth")
    for element in dtd.elements.values():
        for attribute in element.attributes:
            if attribute.kind in UNSUPPORTED and attribute.use == "required":
                words = f"{element.name}/@{attribute.name} must name an unparsed entity, of which documents have none"
                raise UsageError("entity_attribute", words, hint="make it #IMPLIED")


def size_of(text: str) -> int:
    """Elements of a size's name, or of a number.

    >>> size_of("large"), size_of("250")
    (1000, 250)
    """
    if text not in SIZES and not (text.isdecimal() and int(text)):
        raise UsageError("bad_size", f"size {text!r} is no number", hint=f"or one of {', '.join(SIZES)}")
    return SIZES.get(text) or int(text)
