"""Numbers agree with libxml2 to the last bit."""

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from winnow.xpath.numbers import to_number

NUMBER = etree.XPath("number($text)")
ROOT = etree.fromstring("<r/>")


def same(text: str) -> None:
    theirs, ours = NUMBER(ROOT, text=text), to_number(text)
    assert struct.pack("d", theirs) == struct.pack("d", ours) or (math.isnan(theirs) and math.isnan(ours)), text


@settings(max_examples=500, deadline=None)
@given(
    st.one_of(
        st.text("0123456789.-+eE \t\n", max_size=14),
        st.from_regex(r"\A-?[0-9]{1,25}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,3})?\Z"),
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), max_size=6),
    )
)
def test_strings(text: str) -> None:
    same(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        ".",
        "-.",
        "1.",
        ".5",
        "e5",
        ".e5",
        "1e",
        "1e-",
        "1e400",
        "0e400",
        "-0",
        "1e99999999",
        "0." + "0" * 400 + "1",
    ],
)
def test_edges(text: str) -> None:
    same(text)


@settings(max_examples=100, deadline=None)
@given(st.from_regex(r"\A([0-9]{1,25}(\.[0-9]{0,30})?|\.[0-9]{1,30})\Z"))
def test_literals(text: str) -> None:
    assert etree.XPath(text)(ROOT) == to_number(text)
