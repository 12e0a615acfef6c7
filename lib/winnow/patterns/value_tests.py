"""Tests of one value inside kernels. Values are UTF-8, which keeps prefixes and substrings what they are."""

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Bytes
from winnow.encoding.numbers import parse_number
from winnow.patterns.twigs import Tests
from winnow.xpath.pattern import Op

EQ, NE, NUM_EQ, NUM_NE = int(Op.EQ), int(Op.NE), int(Op.NUM_EQ), int(Op.NUM_NE)
LT, LE, GT, GE = int(Op.LT), int(Op.LE), int(Op.GT), int(Op.GE)
CONTAINS, STARTS_WITH = int(Op.CONTAINS), int(Op.STARTS_WITH)


@inlined
def same_bytes(left: Bytes, at: int, right: Bytes, start: int, length: int) -> bool:
    k = 0
    while k < length and left[at + k] == right[start + k]:
        k += 1
    return k == length


@kernel
def holds(tests: Tests, test: int, values: Bytes, start: int, end: int) -> bool:
    """Whether the value `values[start:end]` passes. Arrays are pointers here."""
    op = tests.op[test]
    if NUM_EQ <= op <= GE:
        value, operand = parse_number(values, start, end), tests.number[test]
        if op == NUM_EQ:
            return bool(value == operand)
        if op == NUM_NE:
            return bool(value != operand)
        if op == LT:
            return bool(value < operand)
        if op == LE:
            return bool(value <= operand)
        if op == GT:
            return bool(value > operand)
        return bool(value >= operand)
    text = tests.start[test]
    length = tests.end[test] - text
    if op == EQ:
        return length == end - start and same_bytes(values, start, tests.text, text, length)
    if op == NE:
        return not (length == end - start and same_bytes(values, start, tests.text, text, length))
    if op == STARTS_WITH:
        return length <= end - start and same_bytes(values, start, tests.text, text, length)
    if length == 0:
        return True
    first = tests.text[text]
    for at in range(start, end - length + 1):
        if values[at] == first and same_bytes(values, at, tests.text, text, length):
            return True
    return False
