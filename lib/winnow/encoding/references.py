"""Character data as XPath sees it: references decoded, line ends normalised (XML 1.0 §2.11, §3.3.3, §4.1, §4.6).

No decoded form is longer in UTF-8 than what stands in the document, so a buffer as large as the document is enough.
"""

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import inlined, kernel
from winnow.encoding.simd import BLOCK, as_word, attribute_special_mask, copy_block, lowest_bit, text_end_mask, word_at

Bytes = npt.NDArray[np.uint8]

AMPERSAND, LESS_THAN, LINE_FEED, RETURN, SPACE = 0x26, 0x3C, 0x0A, 0x0D, 0x20

_AMP, _LT, _GT, _QUOT, _APOS = (as_word(name) for name in (b"amp;", b"lt;", b"gt;", b"quot;", b"apos;"))


@kernel
def write_character(code: int, target: Bytes, at: int) -> int:
    """Write a code point as UTF-8; the position after it."""
    if code < 0x80:
        target[at] = code
        return at + 1
    if code < 0x800:
        target[at] = 0xC0 | (code >> 6)
        target[at + 1] = 0x80 | (code & 0x3F)
        return at + 2
    if code < 0x10000:
        target[at] = 0xE0 | (code >> 12)
        target[at + 1] = 0x80 | ((code >> 6) & 0x3F)
        target[at + 2] = 0x80 | (code & 0x3F)
        return at + 3
    target[at] = 0xF0 | (code >> 18)
    target[at + 1] = 0x80 | ((code >> 12) & 0x3F)
    target[at + 2] = 0x80 | ((code >> 6) & 0x3F)
    target[at + 3] = 0x80 | (code & 0x3F)
    return at + 4


@inlined
def is_character(code: int) -> bool:
    """Whether XML allows a code point (§2.2)."""
    if code < 0x20:
        return code in (0x09, LINE_FEED, RETURN)
    return code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000


@kernel
def read_character_reference(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """The code point of `&#…;` at `start` and the index after it; code point -1 when it is not one."""
    i = start + 2
    base = 10
    if data[i] == 0x78:
        base = 16
        i += 1
    code = 0
    first = i
    while i < end:
        c = data[i]
        if 0x30 <= c <= 0x39:
            digit = c - 0x30
        elif base == 16 and 0x41 <= (c & 0xDF) <= 0x46:
            digit = (c & 0xDF) - 0x37
        else:
            break
        code = min(code * base + digit, 0x110000)
        i += 1
    valid = i > first and i < end and data[i] == 0x3B and is_character(code)
    return (code, i + 1) if valid else (-1, i)


@kernel
def read_reference(data: Bytes, start: int, end: int) -> tuple[int, int]:
    """The code point of the reference at `start` and the index after it; code point -1 when it is not predefined."""
    if data[start + 1] == 0x23:
        return read_character_reference(data, start, end)
    name = word_at(data, start + 1)
    code, length = -1, 0
    if name & 0xFFFFFFFF == _AMP:
        code, length = 0x26, 5
    elif name & 0xFFFFFF == _LT:
        code, length = 0x3C, 4
    elif name & 0xFFFFFF == _GT:
        code, length = 0x3E, 4
    elif name & 0xFFFFFFFFFF == _QUOT:
        code, length = 0x22, 6
    elif name & 0xFFFFFFFFFF == _APOS:
        code, length = 0x27, 6
    if start + length > end:
        code = -1
    return code, start + length


@kernel
def copy_text(data: Bytes, start: int, end: int, target: Bytes, at: int) -> tuple[int, int]:
    """Copy character data up to the next `<` or `end`; the index there and the position after what was written.

    The index is negative when a reference is not predefined. Blocks are copied whole: what they write beyond the
    position that is returned is overwritten by whatever comes next.
    """
    i = start
    while i < end:
        mask = text_end_mask(data, i)
        copy_block(data, i, target, at)
        if mask == 0:
            i += BLOCK
            at += BLOCK
            continue
        step = lowest_bit(mask)
        i += step
        at += step
        if i >= end:
            break
        c = data[i]
        if c == LESS_THAN:
            return i, at
        if c == RETURN:
            target[at] = LINE_FEED
            at += 1
            i += 2 if data[i + 1] == LINE_FEED else 1
        else:
            code, i = read_reference(data, i, end)
            if code < 0:
                return -1, at
            at = write_character(code, target, at)
    return end, at - (i - end)


@kernel
def copy_verbatim(data: Bytes, start: int, end: int, target: Bytes, at: int) -> int:
    """Copy the inside of a CDATA section: only line ends change."""
    for i in range(start, end):
        c = data[i]
        if c == RETURN:
            c = LINE_FEED
        elif c == LINE_FEED and i > start and data[i - 1] == RETURN:
            continue
        target[at] = c
        at += 1
    return at


@kernel
def copy_attribute(data: Bytes, start: int, end: int, target: Bytes, at: int) -> int:
    """Copy an attribute's value, normalised; the position after it, negative when a reference is not predefined."""
    i = start
    while i < end:
        mask = attribute_special_mask(data, i)
        copy_block(data, i, target, at)
        step = min(lowest_bit(mask), BLOCK, end - i)
        i += step
        at += step
        if step == BLOCK or i == end:
            continue
        if data[i] == AMPERSAND:
            code, i = read_reference(data, i, end)
            if code < 0:
                return -1
            at = write_character(code, target, at)
        else:
            target[at] = SPACE
            at += 1
            i += 2 if data[i] == RETURN and data[i + 1] == LINE_FEED else 1
    return at
