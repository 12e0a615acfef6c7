"""The syntax tree of an XPath 1.0 expression.

Abbreviations are expanded while parsing (`@x` is `attribute::x`, `//` is `/descendant-or-self::node()/`), parentheses
that only group are gone. `at` is the number of the token a node came from, for messages; two trees are equal when they
say the same, wherever they stood.
"""

from typing import NamedTuple, TypeAlias, TypeVar

_T = TypeVar("_T", bound=type)


def _located(cls: _T) -> _T:
    """Makes equality and hash leave out the last field, `at`."""

    def equal(self: tuple[object, ...], other: object) -> bool:
        return type(other) is cls and tuple.__eq__(self[:-1], other[:-1])  # type: ignore[index]

    def differ(self: tuple[object, ...], other: object) -> bool:
        return not equal(self, other)

    def digest(self: tuple[object, ...]) -> int:
        return hash(self[:-1])

    for name, method in (("__eq__", equal), ("__ne__", differ), ("__hash__", digest)):
        setattr(cls, name, method)
    return cls


@_located
class Step(NamedTuple):
    axis: str
    test: str  # as written: `a`, `p:a`, `*`, `p:*`, `text()`, `node()`, `comment()`, `processing-instruction('x')`
    predicates: tuple["Expr", ...]
    at: int


@_located
class Path(NamedTuple):
    """Steps from the document node (`absolute`), from the nodes of `base`, or from the context node."""

    absolute: bool
    base: "Expr | None"
    steps: tuple[Step, ...]
    at: int


@_located
class Filter(NamedTuple):
    """`(base)[predicate]…`: positions count in document order over the whole of `base`."""

    base: "Expr"
    predicates: tuple["Expr", ...]
    at: int


@_located
class Operation(NamedTuple):
    """`or`, `and`, `|` hold two or more operands; comparisons and arithmetic exactly two; `neg` one."""

    op: str
    operands: tuple["Expr", ...]
    at: int


@_located
class Call(NamedTuple):
    name: str
    args: tuple["Expr", ...]
    at: int


@_located
class Literal(NamedTuple):
    value: str
    at: int


@_located
class Number(NamedTuple):
    text: str  # as written; its value is numbers.to_number(text)
    at: int


Expr: TypeAlias = Path | Filter | Operation | Call | Literal | Number
