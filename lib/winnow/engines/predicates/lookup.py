"""From a value to the test it passes, for `=`: a hash table of texts and a sorted list of numbers.

Bytes are compared, never hashes alone. Only tests that patterns wait for are in here.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Bytes, Floats, Ints
from winnow.patterns.twigs import Tests
from winnow.patterns.value_tests import EQ, NUM_EQ, same_bytes


class Lookup(NamedTuple):
    slots: Ints  # test id + 1, or 0
    mask: int
    longest: int  # bytes of the longest text; longer values need no look-up
    numbers: Floats
    number_tests: Ints


@inlined
def _hash_bytes(data: Bytes, start: int, end: int) -> int:
    h = end - start
    for i in range(start, end):
        h = (h ^ data[i]) * 0x100000001B3
    return h ^ (h >> 29)


@kernel
def _fill(tests: Tests, wanted: Ints, slots: Ints) -> None:
    for k in range(wanted.size):
        slot = _hash_bytes(tests.text, tests.start[wanted[k]], tests.end[wanted[k]]) & (slots.size - 1)
        while slots[slot]:
            slot = (slot + 1) & (slots.size - 1)
        slots[slot] = wanted[k] + 1


def build_lookup(tests: Tests, waited: Ints) -> Lookup:
    """`waited` are the distinct tests that patterns wait for."""
    texts = waited[tests.op[waited] == EQ]
    slots = np.zeros(1 << (2 * texts.size + 1).bit_length(), np.int32)
    _fill(tests, texts, slots)
    longest = int((tests.end[texts] - tests.start[texts]).max(initial=-1))
    numeric = waited[tests.op[waited] == NUM_EQ]
    order = np.argsort(tests.number[numeric])
    return Lookup(slots, slots.size - 1, longest, tests.number[numeric][order], numeric[order].astype(np.int32))


@inlined
def text_test(lookup: Lookup, tests: Tests, values: Bytes, start: int, end: int) -> int:
    """The `=` test with this text, or -1. Arrays are pointers here."""
    if end - start > lookup.longest:
        return -1
    slot = _hash_bytes(values, start, end) & lookup.mask
    while lookup.slots[slot]:
        test = lookup.slots[slot] - 1
        text = tests.start[test]
        if tests.end[test] - text == end - start and same_bytes(values, start, tests.text, text, end - start):
            return int(test)
        slot = (slot + 1) & lookup.mask
    return -1


@inlined
def first_at_least(sorted_items: Ints, begin: int, end: int, item: int) -> int:
    """The first position in `begin:end` of a sorted list that is not below `item`."""
    while begin < end:
        middle = (begin + end) >> 1
        if sorted_items[middle] < item:
            begin = middle + 1
        else:
            end = middle
    return begin
