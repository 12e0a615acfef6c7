"""Patterns as flat arrays: every distinct subtree of every pattern once, children before parents.

A subtree ("twig") is a run of integers in one pool, in this order:

    flags, symbol, number of tests, test ids …, children …

`flags` holds the kind and two bits; a child is `2 * twig + axis`. A pattern is the twig of its document node, of kind
`DOCUMENT`. Equal subtrees are one twig, also across patterns, so that what a document says about it is found out once.

Symbols are signed: an element's is the vocabulary's, an attribute's is its negation, text is 0, and the wildcards lie
beyond all of them.
"""

from typing import NamedTuple

from winnow.arrays.kernel import inlined
from winnow.arrays.types import Bytes, Floats, Ints, Longs
from winnow.xpath.pattern import Kind

ANY_ELEMENT = 2**29
ANY_ATTRIBUTE = -(2**29)

KIND = 3  # mask
ELEMENT, ATTRIBUTE, TEXT, DOCUMENT = int(Kind.ELEMENT), int(Kind.ATTRIBUTE), int(Kind.TEXT), 3
FIRST = 4  # the tests are for the first such node below each parent only, so the parent applies them
ORDERED = 8  # element and text children, at least two, in ascending post-order (XTrie, section 2)
FLAGS, SYMBOL, TESTS, BODY = range(4)  # offsets within a twig; the tests begin at BODY


class Tests(NamedTuple):
    """Per test id: the operator, its number, or its text `text[start:end]`."""

    op: Bytes
    number: Floats
    start: Longs
    end: Longs
    text: Bytes


class Twigs(NamedTuple):
    pool: Ints
    offsets: Longs  # per twig, one more than twigs
    roots: Ints  # per pattern, its twig
    tests: Tests


@inlined
def label_fits(wanted: int, symbol: int) -> bool:
    """`symbol` is that of a document node (text nodes aside), `wanted` that of a twig."""
    return wanted == symbol or (wanted == ANY_ELEMENT and symbol > 0) or (wanted == ANY_ATTRIBUTE and symbol < 0)
