"""Comparisons, exactly as XPath 1.0 §3.4 and libxml2 make them, as conditions on nodes."""

import math
from typing import TYPE_CHECKING, Final

from winnow.xpath import strings
from winnow.xpath.ast import Call, Expr, Operation
from winnow.xpath.conditions import ALWAYS, NEVER, Alt, Alts
from winnow.xpath.constants import Constant, as_number, compared, constant
from winnow.xpath.functions import Type, type_of
from winnow.xpath.pattern import Test
from winnow.xpath.values import FLIPPED, NUMBER_OPS, STRING_OPS, holds_number

if TYPE_CHECKING:
    from winnow.xpath.normalise import Normaliser

_OPPOSITE: Final = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
# Numbers that are never NaN: a comparison with them can be turned round. Both are zero, or a whole number above it.
_COUNTS: Final = frozenset({"count", "string-length"})


def comparison(n: "Normaliser", expr: Operation, wanted: bool) -> Alts:
    op = expr.op
    left, right = expr.operands
    if constant(left) is not None:
        left, right, op = right, left, FLIPPED[op]
    value = constant(right)
    if value is not None:
        types = {type_of(left), type_of(right)}
        if Type.BOOLEAN in types and (types <= {Type.BOOLEAN, Type.NODE_SET} or op in STRING_OPS):
            return _boolean_compared(n, left, op, value, wanted)
        if type(left) is Call and left.name in _COUNTS and not math.isnan(as_number(value)) and not wanted:
            op, wanted = _OPPOSITE[op], True
    if wanted:
        return _compared(n, Operation(op, (left, right), expr.at), value)
    return n.negated(lambda: _compared(n, Operation(op, (left, right), expr.at), value), expr.at)


def _boolean_compared(n: "Normaliser", left: Expr, op: str, value: Constant, wanted: bool) -> Alts:
    """`left` counts as true or false, so trying both says which of them it has to be."""
    if_true, if_false = compared(op, True, value) is wanted, compared(op, False, value) is wanted
    if if_true and if_false:
        return ALWAYS
    return n.truth(left, if_true) if if_true or if_false else NEVER


def _compared(n: "Normaliser", expr: Operation, value: Constant | None) -> Alts:
    op = expr.op
    left, right = expr.operands
    if value is None:
        return _both_vary(n, left, op, right, expr.at)
    match type_of(left):
        case Type.NODE_SET:
            return _nodes_compared(n, left, op, value)
        case Type.STRING if op in STRING_OPS and isinstance(value, str):
            return strings.string_compared(n, left, op, value)
        case Type.BOOLEAN:
            return _boolean_compared(n, left, op, as_number(value), True)
        case _:
            return number_compared(n, left, op, as_number(value))


def _nodes_compared(n: "Normaliser", left: Expr, op: str, value: Constant) -> Alts:
    """True when some node's string-value (or its number) compares so; relational operators always mean numbers."""
    if isinstance(value, str) and op in STRING_OPS:
        return n.nodes(left, (Alt(tests=(Test(STRING_OPS[op], value),)),))
    number = as_number(value)
    if math.isnan(number):
        return n.nodes(left, ALWAYS) if op == "!=" else NEVER
    return n.nodes(left, (Alt(tests=(number_test(op, number),)),))


def number_test(op: str, number: float) -> Test:
    return Test(NUMBER_OPS[op], number + 0.0)  # -0.0 and 0.0 compare equal and become one operand


def _both_vary(n: "Normaliser", left: Expr, op: str, right: Expr, at: int) -> Alts:
    """Both sides depend on the document: certain is only that nodes exist, where a missing one makes it false."""
    types = {type_of(left), type_of(right)}
    n.because("node_set_comparison" if types == {Type.NODE_SET} else "function", at)
    if Type.BOOLEAN in types:
        return ALWAYS
    as_strings = op in STRING_OPS and Type.NUMBER not in types
    alts = ALWAYS
    for side in (left, right):
        if type_of(side) is Type.NODE_SET:
            alts = n.both(alts, n.nodes(side, ALWAYS), at)
        elif op != "!=" and not as_strings:
            alts = n.both(alts, defined(n, side), at)
    return alts


def number_compared(n: "Normaliser", left: Expr, op: str, number: float, *, nan_differs: bool = True) -> Alts:
    """`left` is a number or a string. `nan_differs=False` is the conversion to boolean, where NaN counts as zero."""
    if math.isnan(number):
        return ALWAYS if op == "!=" and nan_differs else NEVER
    if type(left) is Call and left.name in _COUNTS:
        return _count_compared(n, left, op, number)
    if type(left) is Call and left.name in {"number", "string"}:
        nodes = left.args[0] if left.args else strings.context_node(left.at)
        if type_of(nodes) is Type.NODE_SET and (op != "!=" or nan_differs):
            return strings.first_node(n, nodes, number_test(op, number), left.at)
    n.because(*_why(left))
    return ALWAYS if op == "!=" and nan_differs else defined(n, left)


def _why(expr: Expr) -> tuple[str, int]:
    if type(expr) is Call:
        return ("position" if expr.name in {"position", "last"} else "function"), expr.at
    return "arithmetic", expr.at


def _count_compared(n: "Normaliser", left: Call, op: str, number: float) -> Alts:
    """A count is 0, or 1, or more: whether 0 passes decides if nodes must exist, and 1 and infinity if that is all."""
    passes = [holds_number(NUMBER_OPS[op], value, number) for value in (0.0, 1.0, math.inf)]
    always_above = passes[1] and passes[2] and not (op == "!=" and number > 1)
    if passes[0]:
        if always_above:
            return ALWAYS
        n.because("function", left.at)
        return ALWAYS
    if op == "=" and not (number >= 0 and number.is_integer()):
        return NEVER
    if not any(passes) and op != "=":
        return NEVER
    if not always_above:
        n.because("function", left.at)
    if left.name == "count":
        return n.nodes(left.args[0], ALWAYS)
    return strings.nonempty(n, left.args[0] if left.args else strings.context_node(left.at))


def defined(n: "Normaliser", expr: Expr) -> Alts:
    """What must hold for a number not to be NaN: every node set that arithmetic converts has a node."""
    value = constant(expr)
    if value is not None:
        return NEVER if math.isnan(as_number(value)) else ALWAYS
    match type_of(expr):
        case Type.NODE_SET:
            return n.nodes(expr, ALWAYS)
        case Type.STRING:
            return strings.nonempty(n, expr)
        case Type.BOOLEAN:
            return ALWAYS
    match expr:
        case Operation():
            alts = ALWAYS
            for operand in expr.operands:
                alts = n.both(alts, defined(n, operand), operand.at)
            return alts
        case Call("number" | "floor" | "ceiling" | "round") if expr.args:
            return defined(n, expr.args[0])
        case Call("position" | "last"):
            n.because("position", expr.at)
    return ALWAYS
