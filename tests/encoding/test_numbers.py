"""`parse_number` equals libxml2's `number()`, bit for bit."""

import math
import struct
from typing import cast

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from winnow.encoding import parse_number

from .documents import examples

_NUMBER = etree.XPath("number($text)")
_ROOT = etree.XML("<a/>")

_near_numbers = st.from_regex(
    r"[ \t\n\r]{0,2}-?[0-9]{0,25}(\.[0-9]{0,30})?([eE][-+]?[0-9]{0,4})?[ \t\n\r]{0,2}", fullmatch=True
)


def bits(number: float) -> bytes:
    return b"NaN" if math.isnan(number) else struct.pack("<d", number)


def assert_same(text: str) -> None:
    values = np.frombuffer(b"7" + text.encode() + b"7", np.uint8)  # digits around it must not be read
    assert bits(parse_number(values, 1, values.size - 1)) == bits(float(cast("float", _NUMBER(_ROOT, text=text)))), text


@given(
    st.one_of(
        _near_numbers, st.floats().map(repr), st.integers().map(str), st.text("0123456789.-+eE \t\n\rx", max_size=12)
    )
)
@settings(max_examples=examples(800), deadline=None)
@example("0.1")
@example("1e400")
@example("0e999999999999")
@example("-0")
def test_generated_strings(text: str) -> None:
    assert_same(text)


@pytest.mark.parametrize(
    "text",
    ["", "-", ".", "-.", "e5", "-e5", ".e5", "1e", "1e+", "1e 5", "+1", "--1", "- 1", "1.", ".5", "1 2", "\u00a01", "١",
     "Infinity", "NaN", "0x10", "1,5", "0." + "0" * 400 + "1", "9" * 400, "0." + "9" * 60, "1e-320", "1e1000000"],
)  # fmt: skip
def test_edges(text: str) -> None:
    assert_same(text)
