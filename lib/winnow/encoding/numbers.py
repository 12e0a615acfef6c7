"""Strings to numbers, bit for bit as libxml2 converts them (`xmlXPathStringEvalNumber`), inside kernels."""

import math

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import inlined, kernel

Bytes = npt.NDArray[np.uint8]

_DASH, _DOT, _PLUS, _ZERO, _LOWER_E = 0x2D, 0x2E, 0x2B, 0x30, 0x65
_MAX_FRACTION = 20  # digits that count after the fraction's leading zeros
_EXACT_DIGITS = 22
_MAX_EXPONENT = 1_000_000  # further digits of an exponent are read and ignored


@inlined
def _skip_blanks(values: Bytes, i: int, end: int) -> int:
    while i < end and (values[i] == 0x20 or values[i] == 0x0A or values[i] == 0x09 or values[i] == 0x0D):
        i += 1
    return i


@inlined
def _is_digit(values: Bytes, i: int, end: int) -> bool:
    return i < end and values[i] >= _ZERO and values[i] <= _ZERO + 9


@inlined
def _power_of_ten(digits: int) -> float:
    """Up to 10**22 every product is exact, so that multiplying gives what `pow` gives, in a tenth of the time."""
    if digits > _EXACT_DIGITS:
        return math.pow(10.0, float(digits))
    power = 1.0
    for _ in range(digits):
        power *= 10.0
    return power


@kernel
def parse_number(values: Bytes, start: int, end: int) -> float:
    """The XPath 1.0 number of `values[start:end]`; NaN when it is none.

    libxml2 reads more than XPath 1.0 allows (exponents) and rounds after every digit, not once at the end. Both are
    part of the reference's answer, so the order of the operations below is, too.
    """
    i = _skip_blanks(values, start, end)
    negative = i < end and values[i] == _DASH
    if negative:
        i += 1
    if not _is_digit(values, i, end) and not (i < end and values[i] == _DOT and _is_digit(values, i + 1, end)):
        return math.nan
    result = 0.0
    while _is_digit(values, i, end):
        result = result * 10.0 + (values[i] - _ZERO)
        i += 1
    if i < end and values[i] == _DOT:
        i += 1
        digits = 0
        while i < end and values[i] == _ZERO:
            digits += 1
            i += 1
        last = digits + _MAX_FRACTION
        fraction = 0.0
        while _is_digit(values, i, end) and digits < last:
            fraction = fraction * 10.0 + (values[i] - _ZERO)
            digits += 1
            i += 1
        result += fraction / _power_of_ten(digits)
        while _is_digit(values, i, end):
            i += 1
    exponent = 0
    if i < end and (values[i] | 0x20) == _LOWER_E:
        i += 1
        falling = i < end and values[i] == _DASH
        if i < end and (values[i] == _DASH or values[i] == _PLUS):
            i += 1
        while _is_digit(values, i, end):
            if exponent < _MAX_EXPONENT:
                exponent = exponent * 10 + (values[i] - _ZERO)
            i += 1
        if falling:
            exponent = -exponent
    if _skip_blanks(values, i, end) != end:
        return math.nan
    if negative:
        result = -result
    return result if exponent == 0 else result * math.pow(10.0, float(exponent))
