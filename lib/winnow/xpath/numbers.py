"""Numbers as libxml2 reads them.

`number('…')` and number literals are not `strtod`: libxml2 adds digit after digit in double arithmetic, keeps at most
twenty digits of the fraction after its leading zeros, and takes an exponent (which XPath 1.0 does not know). Range
tests must agree with it to the last bit, so the arithmetic is repeated here (xpath.c, xmlXPathStringEvalNumber).
"""

import math
import re
from typing import Final

# Sign, whole digits, leading zeros and further digits of the fraction, exponent. libxml2 wants a digit before the
# point or after it, and stops at a NUL, which XML cannot hold. An exponent may have no digits.
_NUMBER: Final = re.compile(
    r"[ \t\r\n]*(-?)(?:([0-9]+)(?:\.(0*)([0-9]*))?|\.(?=[0-9])(0*)([0-9]*))(?:[eE]([-+]?)([0-9]*))?[ \t\r\n]*"
)
_FRACTION_DIGITS: Final = 20
_MAX_EXPONENT: Final = 1_000_000
# Up to 2**53 every step of digit-by-digit arithmetic is exact, and `int` gives the same.
_EXACT_DIGITS: Final = 15


def to_number(text: str) -> float:
    """`number(text)` as libxml2 computes it; NaN for what is not a number.

    >>> to_number(" -12.50 "), to_number("1e3"), to_number("+1")
    (-12.5, 1000.0, nan)
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return math.nan
    sign, whole, zeros, digits, zeros_only, digits_only, exponent_sign, exponent_digits = match.groups()
    value = _digits(whole or "")
    zeros, digits = (zeros or "", digits or "") if whole else (zeros_only, digits_only)
    if zeros or digits:
        kept = digits[:_FRACTION_DIGITS]
        value += _divided(_digits(kept), len(zeros) + len(kept))
    if sign:
        value = -value
    if exponent_digits:
        value *= _power(_exponent(exponent_digits) * (-1 if exponent_sign == "-" else 1))
    return value


def _digits(text: str) -> float:
    if len(text) <= _EXACT_DIGITS:
        return float(int(text)) if text else 0.0
    value = 0.0
    for digit in text:
        value = value * 10 + (ord(digit) - 48)
    return value


def _divided(fraction: float, places: int) -> float:
    power = _power(places)
    return fraction / power if power else math.nan


def _exponent(digits: str) -> int:
    value = 0
    for digit in digits:
        if value < _MAX_EXPONENT:
            value = value * 10 + int(digit)
    return value


def _power(exponent: int) -> float:
    try:
        return math.pow(10.0, exponent)
    except OverflowError:
        return math.inf
