"""What libxml2 may have to do for one answer, in nanoseconds at worst: enough to know what is certainly quick.

An expression gives a sum of terms, `weight * nodes**i * depth**j * text**k`; a document gives nodes, depth and text.
The terms are collected while `cost` walks the expression. They are bounds, and most evaluations need a small part of
them: what is over a budget is not slow, it is only not known to be quick.

What a power of the nodes alone would not show, each measured:

- `.//a` asked in each of nested elements visits a node once for each element around it: a power of the depth.
- The string-value of an element is all text below it, copied. A string searched in another takes the product of their
  lengths when both repeat one letter; `translate()` takes that always, and `concat()` copies again for each argument.
- `//a//b` looks for duplicates one by one: the square of the nodes, though with a small weight.
- `namespace::` makes a list of all bindings in scope for every element, looking for duplicates one by one.
- `lang()` and `namespace-uri()` copy a string for every node that they are asked about, however long.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from winnow.xpath.ast import Call, Expr, Literal
from winnow.xpath.functions import Type, type_of

VISIT, PATH, OPERATION, CONVERSION, DUPLICATE = 10.0, 150.0, 100.0, 100.0, 3.0  # nanoseconds, measured and rounded up

Powers = tuple[int, int, int]  # of nodes, depth, text


class Size(NamedTuple):
    """What of a document matters."""

    nodes: int  # of every kind: elements, attributes, text, comments, instructions
    depth: int
    text: int  # bytes, of values and of markup
    bindings: int  # namespace declarations


class Effort(NamedTuple):
    terms: tuple[tuple[Powers, float], ...]
    bindings: bool  # the namespace axis: each node counts as often as it has pairs of bindings

    def of(self, size: Size) -> float:
        """Nanoseconds, at worst.

        >>> Effort((((2, 0, 0), 10.0), ((1, 1, 0), 5.0)), False).of(Size(100, 3, 0, 0))
        101500.0
        """
        nodes = float(size.nodes * (1 + size.bindings) ** 2 if self.bindings else size.nodes)
        depth, text = float(size.depth), float(size.text)
        return sum(weight * nodes**i * depth**j * text**k for (i, j, k), weight in self.terms)


def total(efforts: Iterable[Effort]) -> Effort:
    """Of one after the other."""
    efforts = list(efforts)
    return Effort(tuple(term for effort in efforts for term in effort.terms), any(e.bindings for e in efforts))


class Tally:
    """Collects terms."""

    def __init__(self, namespaces: Mapping[str, str] | None = None) -> None:
        self._terms: dict[Powers, float] = {}
        self._longest_uri = max(map(len, (namespaces or {}).values()), default=0)
        self._bindings = False

    def add(self, weight: float, nodes: int, *, depth: int = 0, text: int = 0) -> None:
        if weight:
            powers = nodes, depth, text
            self._terms[powers] = self._terms.get(powers, 0.0) + weight

    def add_bindings(self) -> None:
        self._bindings = True

    def comparing(self, test: str) -> float:
        """Of one node with the test of a step: names may be made to differ late."""
        return VISIT + max(len(test) - 32, 0) + (max(self._longest_uri - 64, 0) if ":" in test else 0)

    def effort(self) -> Effort:
        return Effort(tuple(sorted(self._terms.items())), self._bindings)


class Length(NamedTuple):
    """Of a string: so many times the text of the document, plus so many bytes."""

    times: int
    bytes: int


def length(expr: Expr) -> Length:
    """The longest string that an expression may give.

    >>> from winnow.xpath.parser import parse
    >>> length(parse("concat(substring(., 2), '-', //a)").tree)
    Length(times=2, bytes=1)
    """
    match expr:
        case Literal():
            return Length(0, len(expr.value.encode()))
        case Call("concat"):
            parts = [length(arg) for arg in expr.args]
            return Length(sum(part.times for part in parts), sum(part.bytes for part in parts))
        case Call("translate"):
            whole = length(expr.args[0])
            return Length(4 * whole.times, 4 * whole.bytes)  # one byte may become four
        case Call() if expr.args and type_of(expr) is Type.STRING:
            return length(expr.args[0])
        case Call() if type_of(expr) in {Type.NUMBER, Type.BOOLEAN}:
            return Length(0, 32)
    return Length(0, 32) if type_of(expr) in {Type.NUMBER, Type.BOOLEAN} else Length(1, 0)


def work(call: Call) -> tuple[float, float, float]:
    """Of a function on its strings, in nanoseconds: for each call, each byte of text, and each pair of them."""
    lengths = [length(arg) for arg in call.args]
    match call.name, lengths:
        case "contains" | "substring-before" | "substring-after", [Length(0, whole), part]:
            return whole * whole, 1.0 + part.times, 0.0  # no more of the part is looked at than fits
        case "contains" | "substring-before" | "substring-after", [whole, part]:
            return _product(whole, Length(part.times, 1 + part.bytes))
        case "translate", [whole, old, new]:
            return _product(whole, Length(old.times + new.times, 30 + old.bytes + new.bytes))
        case "concat", parts:
            return _product(Length(0, len(parts)), Length(*map(sum, zip(*parts, strict=True))))
    return 0.0, 2.0 * (1 + sum(part.times + part.bytes for part in lengths)), 0.0


def _product(a: Length, b: Length) -> tuple[float, float, float]:
    return a.bytes * b.bytes, a.times * b.bytes + a.bytes * b.times, a.times * b.times
