"""The function library of XPath 1.0 (§4): how many arguments, of which type, giving what."""

from enum import IntEnum
from typing import Final, NamedTuple

from winnow.xpath.ast import Call, Expr, Filter, Literal, Number, Operation, Path


class Type(IntEnum):
    NODE_SET = 0
    BOOLEAN = 1
    NUMBER = 2
    STRING = 3


class Function(NamedTuple):
    returns: Type
    least: int
    most: int
    node_set: bool = False  # the first argument must be a node set; every other argument converts by itself


_MANY = 1 << 30

FUNCTIONS: Final[dict[str, Function]] = {
    "last": Function(Type.NUMBER, 0, 0),
    "position": Function(Type.NUMBER, 0, 0),
    "count": Function(Type.NUMBER, 1, 1, node_set=True),
    "id": Function(Type.NODE_SET, 1, 1),
    "local-name": Function(Type.STRING, 0, 1, node_set=True),
    "namespace-uri": Function(Type.STRING, 0, 1, node_set=True),
    "name": Function(Type.STRING, 0, 1, node_set=True),
    "string": Function(Type.STRING, 0, 1),
    "concat": Function(Type.STRING, 2, _MANY),
    "starts-with": Function(Type.BOOLEAN, 2, 2),
    "contains": Function(Type.BOOLEAN, 2, 2),
    "substring-before": Function(Type.STRING, 2, 2),
    "substring-after": Function(Type.STRING, 2, 2),
    "substring": Function(Type.STRING, 2, 3),
    "string-length": Function(Type.NUMBER, 0, 1),
    "normalize-space": Function(Type.STRING, 0, 1),
    "translate": Function(Type.STRING, 3, 3),
    "boolean": Function(Type.BOOLEAN, 1, 1),
    "not": Function(Type.BOOLEAN, 1, 1),
    "true": Function(Type.BOOLEAN, 0, 0),
    "false": Function(Type.BOOLEAN, 0, 0),
    "lang": Function(Type.BOOLEAN, 1, 1),
    "number": Function(Type.NUMBER, 0, 1),
    "sum": Function(Type.NUMBER, 1, 1, node_set=True),
    "floor": Function(Type.NUMBER, 1, 1),
    "ceiling": Function(Type.NUMBER, 1, 1),
    "round": Function(Type.NUMBER, 1, 1),
}

_ARITHMETIC: Final = frozenset({"+", "-", "*", "div", "mod", "neg"})


def type_of(expr: Expr) -> Type:
    """Every XPath 1.0 expression has one type, known without a document."""
    match expr:
        case Path() | Filter():
            return Type.NODE_SET
        case Literal():
            return Type.STRING
        case Number():
            return Type.NUMBER
        case Call():
            return FUNCTIONS[expr.name].returns
        case Operation():
            if expr.op == "|":
                return Type.NODE_SET
            return Type.NUMBER if expr.op in _ARITHMETIC else Type.BOOLEAN
