"""Values of expressions that do not depend on the document. What is not folded here is left to libxml2."""

import math

from winnow.xpath.ast import Call, Expr, Literal, Number, Operation
from winnow.xpath.numbers import to_number
from winnow.xpath.values import NUMBER_OPS, holds_number

Constant = bool | float | str


def constant(expr: Expr) -> Constant | None:
    """The value, or None when it depends on the document (or is not worth knowing)."""
    match expr:
        case Literal():
            return expr.value
        case Number():
            return to_number(expr.text)
        case Operation():
            return _operation(expr)
        case Call():
            return _call(expr)
        case _:
            return None


def as_boolean(value: Constant) -> bool:
    return value != 0 and not math.isnan(value) if isinstance(value, float) else bool(value)


def as_number(value: Constant) -> float:
    return to_number(value) if isinstance(value, str) else float(value)


def compared(op: str, left: Constant, right: Constant) -> bool:
    """XPath 1.0 §3.4 for two values that are not node sets."""
    if op in {"=", "!="}:
        if isinstance(left, bool) or isinstance(right, bool):
            return (as_boolean(left) == as_boolean(right)) is (op == "=")
        if isinstance(left, str) and isinstance(right, str):
            return (left == right) is (op == "=")
    return holds_number(NUMBER_OPS[op], as_number(left), as_number(right))


def _operation(expr: Operation) -> Constant | None:
    if expr.op == "|":
        return None
    operands = [constant(operand) for operand in expr.operands]
    if expr.op in {"or", "and"}:
        decisive = expr.op == "or"
        if any(value is not None and as_boolean(value) is decisive for value in operands):
            return decisive
    known = [value for value in operands if value is not None]
    if len(known) < len(operands):
        return None
    if expr.op in {"or", "and"}:
        return expr.op == "and"
    if expr.op in NUMBER_OPS:
        return compared(expr.op, known[0], known[1])
    return _arithmetic(expr.op, [as_number(value) for value in known])


def _arithmetic(op: str, numbers: list[float]) -> float:
    """IEEE 754, as C does it: dividing by zero gives an infinity or NaN, never an error."""
    if op == "neg":
        return -numbers[0]
    left, right = numbers
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "div":
            if right:
                return left / right
            return (
                math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
            )
        case _:
            return math.fmod(left, right) if right and not math.isinf(left) else math.nan


def _call(expr: Call) -> Constant | None:
    if expr.name in {"true", "false"}:
        return expr.name == "true"
    if expr.name not in {"not", "boolean", "number", "string", "concat", "contains", "starts-with"}:
        return None
    values = [constant(arg) for arg in expr.args]
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    first = known[0]
    match expr.name:
        case "not":
            return not as_boolean(first)
        case "boolean":
            return as_boolean(first)
        case "number":
            return as_number(first)
    texts = [value for value in known if isinstance(value, str)]  # how libxml2 writes numbers is left to it
    if len(texts) < len(known):
        return None
    match expr.name:
        case "contains":
            return texts[1] in texts[0]
        case "starts-with":
            return texts[0].startswith(texts[1])
        case _:
            return "".join(texts)
