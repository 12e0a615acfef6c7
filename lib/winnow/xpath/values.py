"""Tests on one node's string-value: what they mean, and their canonical form when several meet on one node."""

import math
from typing import Final

from winnow.xpath.numbers import to_number
from winnow.xpath.pattern import Op, Test

_NUMERIC: Final = frozenset({Op.NUM_EQ, Op.NUM_NE, Op.LT, Op.LE, Op.GT, Op.GE})
# The same comparison with its sides exchanged: `5 < @x` is `@x > 5`.
FLIPPED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
STRING_OPS: Final = {"=": Op.EQ, "!=": Op.NE}
NUMBER_OPS: Final = {"=": Op.NUM_EQ, "!=": Op.NUM_NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}


def holds(test: Test, value: str) -> bool:
    """Whether a node with this string-value passes."""
    op, operand = test
    if isinstance(operand, float):
        return holds_number(op, to_number(value), operand)
    match op:
        case Op.EQ:
            return value == operand
        case Op.NE:
            return value != operand
        case Op.CONTAINS:
            return operand in value
        case _:
            return value.startswith(operand)


def holds_number(op: Op, value: float, operand: float) -> bool:
    """IEEE comparison is XPath's: NaN differs from everything and is in no order."""
    match op:
        case Op.NUM_EQ:
            return value == operand
        case Op.NUM_NE:
            return value != operand
        case Op.LT:
            return value < operand
        case Op.LE:
            return value <= operand
        case Op.GT:
            return value > operand
        case _:
            return value >= operand


def implies(known: Test, asked: Test) -> bool:
    """Every value that passes `known` passes `asked` (a sufficient rule, not a complete one)."""
    if known == asked:
        return True
    if known.op is Op.EQ:
        return holds(asked, str(known.operand))
    if asked.op in _NUMERIC:
        return known.op in _NUMERIC and _implies_number(known, asked)
    prefix, wanted = str(known.operand), str(asked.operand)
    match known.op, asked.op:
        case Op.STARTS_WITH, Op.STARTS_WITH:
            return prefix.startswith(wanted)
        case ((Op.STARTS_WITH | Op.CONTAINS), Op.CONTAINS):
            return wanted in prefix
        case Op.STARTS_WITH, Op.NE:
            return not wanted.startswith(prefix)
        case Op.CONTAINS, Op.NE:
            return prefix not in wanted
        case _:
            # A number that passes is not NaN, and the empty string is.
            return asked == (Op.NE, "") and known.op in _NUMERIC and known.op is not Op.NUM_NE


def _implies_number(known: Test, asked: Test) -> bool:
    have, want = float(known.operand), float(asked.operand)
    match known.op:
        case Op.NUM_EQ:
            return holds_number(asked.op, have, want)
        case Op.NUM_NE:
            return False
        case Op.LT | Op.LE:
            strict = known.op is Op.LT
            if asked.op in {Op.LT, Op.NUM_NE}:
                return have < want or (have == want and strict)
            return asked.op is Op.LE and have <= want
        case _:
            strict = known.op is Op.GT
            if asked.op in {Op.GT, Op.NUM_NE}:
                return have > want or (have == want and strict)
            return asked.op is Op.GE and have >= want


def conjunction(tests: tuple[Test, ...]) -> tuple[Test, ...] | None:
    """The tests without what follows from the others, in canonical order; None when they cannot all hold."""
    if len(tests) < 2:
        return tests
    unique = sorted(set(tests))
    if _contradictory(unique):
        return None
    low, high = _bounds(unique)
    if low == high and not math.isinf(low):
        unique = sorted({*unique, Test(Op.NUM_EQ, low)})
    kept = [
        test
        for i, test in enumerate(unique)
        if not any(
            implies(other, test) and (j < i or not implies(test, other)) for j, other in enumerate(unique) if j != i
        )
    ]
    return tuple(kept)


def _bounds(tests: list[Test]) -> tuple[float, float]:
    """The greatest `>=` and the least `<=`; infinite, and never equal, where there is none."""
    low = max((float(test.operand) for test in tests if test.op is Op.GE), default=-math.inf)
    high = min((float(test.operand) for test in tests if test.op is Op.LE), default=math.inf)
    return low, high


def _contradictory(tests: list[Test]) -> bool:
    for known in tests:
        for other in tests:
            if known.op is Op.EQ and not holds(other, str(known.operand)):
                return True
            if known.op is Op.NUM_EQ and other.op in _NUMERIC:
                if not holds_number(other.op, float(known.operand), float(other.operand)):
                    return True
            elif known.op in {Op.LT, Op.LE} and other.op in {Op.GT, Op.GE}:
                high, low = float(known.operand), float(other.operand)
                if low > high or (low == high and (known.op is Op.LT or other.op is Op.GT)):
                    return True
            elif known.op is Op.STARTS_WITH and other.op is Op.STARTS_WITH:
                one, two = str(known.operand), str(other.operand)
                if not (one.startswith(two) or two.startswith(one)):
                    return True
    return False
