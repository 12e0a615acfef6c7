"""What the scanner checks when it must prove that a document is acceptable (`Work.strict`).

Each check holds only if libxml2 surely finds no fault. It may fail without one: then libxml2 is asked.
"""

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import inlined, kernel
from winnow.encoding.layout import LONGEST_NAME, LONGEST_NAMESPACE, MAX_DECLARATIONS, Scan
from winnow.encoding.markup import CLOSING_BRACKET, DASH, LESS_THAN, SPACE
from winnow.encoding.names import same_span
from winnow.encoding.references import AMPERSAND, is_character, read_reference
from winnow.encoding.simd import (
    BLOCK,
    as_word,
    bit_count,
    doubtful_mask,
    forbidden_mask,
    lowest_bit,
    node_mask,
    non_ascii_mask,
    word_at,
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]

# libxml2 refuses more levels, longer names, and texts or buffers beyond 10,000,000 bytes.
MAX_PROVEN_DEPTH, MAX_PROVEN_NAME_BYTES, MAX_PROVEN_BYTES = 256, 50_000, 9_000_000
MAX_PROVEN_ATTRIBUTES = 64  # each is compared with each
_MAX_TARGET_BYTES = 256

_XML = as_word(b"xml")
_XML_ID = as_word(b"xml:id")


@inlined
def is_within_bounds(scan: Scan, start: int, end: int) -> bool:
    """Whether the document is small enough, and made of characters; sets how long names and namespaces may be."""
    bounds = scan.work.bounds
    if end - start > min(bounds.max_bytes, MAX_PROVEN_BYTES):
        return False
    nodes = count_nodes(scan.source.data, start, end)
    longest = min(bounds.max_name_bytes, MAX_PROVEN_NAME_BYTES)
    scan.state[LONGEST_NAME] = longest
    scan.state[LONGEST_NAMESPACE] = min(longest, bounds.max_expanded_bytes // max(nodes, 1))
    return 0 < nodes <= bounds.max_nodes


@kernel
def count_nodes(data: Bytes, start: int, end: int) -> int:
    """The number of bytes `<` and `=`; -1 unless all bytes are UTF-8 of characters that XML allows (§2.2)."""
    count, i = 0, start
    while i < end:
        inside = (1 << min(end - i, BLOCK)) - 1
        foreign = non_ascii_mask(data, i) & inside
        if foreign != 0:
            inside = (foreign & -foreign) - 1  # the ASCII characters before the first that is not
        if forbidden_mask(data, i) & inside != 0:
            return -1
        count += bit_count(node_mask(data, i) & inside)
        if foreign == 0:
            i += BLOCK
            continue
        i += lowest_bit(foreign)
        while i < end and data[i] >= 0x80:
            length = _character_length(data, i, end)
            if length == 0:
                return -1
            i += length
    return count


@inlined
def _character_length(data: Bytes, i: int, end: int) -> int:
    """The number of bytes of the character at `i`, which is not ASCII; 0 when it is no character."""
    first = int(data[i])
    if first < 0xE0:
        length, code = 2, first & 0x1F
    elif first < 0xF0:
        length, code = 3, first & 0x0F
    else:
        length, code = 4, first & 0x07
    if first < 0xC2 or first > 0xF4 or i + length > end:
        return 0
    for k in range(1, length):
        following = int(data[i + k])
        if following & 0xC0 != 0x80:
            return 0
        code = code << 6 | (following & 0x3F)
    shortest = 0x80 if length == 2 else 0x800 if length == 3 else 0x10000
    return length if code >= shortest and is_character(code) else 0


@kernel
def is_sound_data(data: Bytes, start: int, stop: int) -> bool:
    """Whether text or an attribute's value has no `<`, no `]]>` and only references that XML itself defines.

    At least two bytes of the document stand before `start`.
    """
    i = start
    while i < stop:
        mask = doubtful_mask(data, i)
        if mask == 0:
            i += BLOCK
            continue
        i += lowest_bit(mask)
        if i >= stop:
            break
        if data[i] == AMPERSAND:
            code, i = read_reference(data, i, stop)
            if code < 0:
                return False
        elif data[i] == LESS_THAN or (data[i - 1] == CLOSING_BRACKET and data[i - 2] == CLOSING_BRACKET):
            return False
        else:
            i += 1
    return True


@kernel
def is_sound_comment(data: Bytes, start: int, stop: int) -> bool:
    """Whether the inside of a comment, which `-->` follows, has no `--` and does not end with a `-`."""
    doubled = False
    for i in range(start, stop):
        doubled |= data[i] == DASH and data[i + 1] == DASH
    return not doubled


@kernel
def is_sound_instruction(data: Bytes, start: int, stop: int) -> bool:
    """Whether the inside of a processing instruction begins with an ASCII name other than `xml`, and a blank or end."""
    i = start
    while i < stop and _is_ascii_name_byte(data[i]):
        i += 1
    length = i - start
    if length == 0 or length > _MAX_TARGET_BYTES or data[start] in (0x2D, 0x2E) or 0x30 <= data[start] <= 0x39:
        return False
    if length == 3 and (word_at(data, start) | 0x202020) & 0xFFFFFF == _XML:
        return False
    return i == stop or data[i] <= SPACE


@inlined
def _is_ascii_name_byte(c: int) -> bool:
    return 0x61 <= c | 0x20 <= 0x7A or 0x30 <= c <= 0x39 or c in (0x2D, 0x2E, 0x5F)


@inlined
def is_identifier(data: Bytes, name: int, length: int) -> bool:
    """Whether an attribute is `xml:id`: libxml2 wants its values to be names, each once."""
    return length == 6 and word_at(data, name) & 0xFFFFFFFFFFFF == _XML_ID


@inlined
def is_new_declaration(scan: Scan, number: int, start: int, length: int) -> bool:
    """Whether none of the `number` namespace declarations before it in the tag has this name; remembers it."""
    data, declarations = scan.source.data, scan.work.declarations
    if number == MAX_DECLARATIONS:
        return False
    for k in range(0, 2 * number, 2):
        if declarations[k + 1] == length and same_span(data, declarations[k], data, start, length):
            return False
    declarations[2 * number], declarations[2 * number + 1] = start, length
    return True


@inlined
def are_distinct(paths: Ints, first: int, count: int) -> bool:
    """Whether the attributes of an element have different expanded names, which are different paths."""
    for k in range(first + 1, first + count):
        for j in range(first, k):
            if paths[j] == paths[k]:
                return False
    return True
