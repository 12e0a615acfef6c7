"""Where the pieces of XML markup end. Every function takes an index of a document and never passes its `end`."""

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import inlined, kernel
from winnow.encoding.simd import (
    BLOCK,
    apostrophe_mask,
    as_word,
    greater_than_mask,
    less_than_mask,
    lowest_bit,
    name_end_mask,
    quote_mask,
    word_at,
)

Bytes = npt.NDArray[np.uint8]

QUOTE, APOSTROPHE, EQUALS, COLON = 0x22, 0x27, 0x3D, 0x3A
LESS_THAN, GREATER_THAN, SLASH, BANG, QUESTION = 0x3C, 0x3E, 0x2F, 0x21, 0x3F
DASH, CLOSING_BRACKET, OPENING_BRACKET, SPACE = 0x2D, 0x5D, 0x5B, 0x20

_XMLNS = as_word(b"xmlns")


@inlined
def find_less_than(data: Bytes, i: int, end: int) -> int:
    while i < end:
        mask = less_than_mask(data, i)
        if mask != 0:
            return int(min(i + lowest_bit(mask), end))
        i += BLOCK
    return end


@inlined
def find_greater_than(data: Bytes, i: int, end: int) -> int:
    while i < end:
        mask = greater_than_mask(data, i)
        if mask != 0:
            return int(min(i + lowest_bit(mask), end))
        i += BLOCK
    return end


@inlined
def find_quote(data: Bytes, i: int, end: int, quote: int) -> int:
    while i < end:
        mask = quote_mask(data, i) if quote == QUOTE else apostrophe_mask(data, i)
        if mask != 0:
            return int(min(i + lowest_bit(mask), end))
        i += BLOCK
    return end


@inlined
def name_end(data: Bytes, i: int, end: int) -> int:
    """The index after a name: at the first blank, control character, `/`, `>` or `=`."""
    while i < end:
        mask = name_end_mask(data, i)
        if mask != 0:
            return int(min(i + lowest_bit(mask), end))
        i += BLOCK
    return end


@inlined
def skip_blanks(data: Bytes, i: int, end: int) -> int:
    while i < end and (data[i] == 0x20 or data[i] == 0x0A or data[i] == 0x09 or data[i] == 0x0D):
        i += 1
    return i


@kernel
def section_end(data: Bytes, start: int, end: int, closing: int, count: int) -> int:
    """The index after the first `>` that follows `count` bytes `closing`, none of them before `start`; -1 without one.

    Ends comments (`-->`), CDATA sections (`]]>`) and processing instructions (`?>`); `start` is where their inside is.
    """
    i = start
    while True:
        i = find_greater_than(data, i, end)
        if i >= end:
            return -1
        if i - count >= start and data[i - 1] == closing and data[i - count] == closing:
            return i + 1
        i += 1


@kernel
def doctype_end(data: Bytes, start: int, end: int) -> int:
    """The index after a document type declaration without internal subset; -1 when there is one, or no end."""
    i = start
    while i < end:
        c = data[i]
        if c == GREATER_THAN:
            return i + 1
        if c == OPENING_BRACKET:
            return -1
        if c in (QUOTE, APOSTROPHE):
            i = find_quote(data, i + 1, end, c)
        i += 1
    return -1


@inlined
def is_namespace_declaration(data: Bytes, start: int, stop: int) -> bool:
    """Whether an attribute's name is `xmlns` or `xmlns:…`."""
    if (word_at(data, start) & 0xFFFFFFFFFF) != _XMLNS or stop - start < 5:
        return False
    return stop - start == 5 or data[start + 5] == COLON
