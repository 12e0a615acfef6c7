"""Names of labels, paths, branches and patterns that depend on content only.

A code is 64 bits over the content, so workers agree on it without asking anyone, and encoding twice, in another order
or in other partitions gives the same rows. Where codes meet, in the driver, equal codes must mean equal content.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Ints, Longs
from winnow.encoding.vocabulary import Vocabulary
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT

DOCUMENT_CODE = 0


def text_code(text: str) -> int:
    """
    >>> text_code("a"), text_code("b")
    (3405396810240292928, 8453121595177857668)
    """
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True
    )


def text_codes(texts: Iterable[str]) -> Longs:
    return np.array([text_code(text) for text in texts], np.int64)


class LabelCodes:
    """The codes of a vocabulary's labels, by symbol; each is computed once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._codes = Column(np.int64)

    def all(self) -> Longs:
        known = len(self._codes)
        if known < len(self._vocabulary):
            self._codes.extend(text_codes(label for _, label in self._vocabulary.rows(start=known)))
        view: Longs = self._codes.view
        return view


@kernel
def mix(seed: Any, value: Any) -> Any:
    """The next state of a running code (the finaliser of SplitMix64)."""
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(value) + np.uint64(0x632BE59BD9B4E019)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(z ^ (z >> np.uint64(31)))


@kernel
def bytes_code(seed: Any, data: Bytes, start: int, end: int) -> Any:
    """The next state of a running code, of some bytes."""
    code = mix(seed, np.int64(end - start))
    word, filled = np.uint64(0), 0
    for i in range(start, end):
        word = (word << np.uint64(8)) | np.uint64(data[i])
        filled += 1
        if filled == 8:
            code = mix(code, np.int64(word))
            word, filled = np.uint64(0), 0
    return mix(code, np.int64(word))


@kernel
def child_codes(parents: Longs, labels: Longs) -> Longs:
    """The codes of paths, given those of the paths above and of their last labels."""
    codes = np.empty(parents.size, np.int64)
    for k in range(parents.size):
        codes[k] = mix(parents[k], labels[k])
    return codes


@kernel
def path_codes(parents: Ints, symbols: Ints, labels: Longs) -> Longs:
    """Per path of a table, parents first; `labels` are the codes of the symbols."""
    codes = np.zeros(parents.size, np.int64)
    for path in range(1, parents.size):
        codes[path] = mix(codes[parents[path]], labels[symbols[path]])
    return codes


@kernel
def line_codes(steps: Ints, ends: Longs, labels: Longs) -> Longs:
    """Per line `steps[ends[k]:ends[k + 1]]` (see `winnow.patterns.lines`)."""
    codes = np.zeros(ends.size - 1, np.int64)
    for k in range(codes.size):
        code = np.int64(ends[k + 1] - ends[k])
        for i in range(ends[k], ends[k + 1]):
            symbol = steps[i] >> 1
            label = np.int64(symbol) if symbol in (ANY_ELEMENT, ANY_ATTRIBUTE) else labels[abs(symbol)]
            code = mix(mix(code, label), np.int64(steps[i] & 1))
        codes[k] = code
    return codes
