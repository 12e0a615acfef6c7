"""A counting Bloom filter of codes: may this code have been added? Codes can be taken out again.

Bloom filters are per peer in Miliaraki and Koubarakis, DEBS 2010, §4.4, and per index partition here; §5.3 names
counting ones as what makes it possible to take predicates out. Written here because kernels have to probe it; the
libraries of this field hash Python objects, one by one.
"""

import math

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Longs
from winnow.errors import UsageError
from winnow.index.codes import mix

_FULL = 255  # a count that has reached this stays: it no longer knows how many there are


class CountingBloom:
    """Sized for so many distinct codes at a wanted rate of false positives.

    >>> some = CountingBloom(1000, 0.01)
    >>> some.add(np.array([3, 7])); some.add(np.array([7])); some.remove(np.array([3, 7]))
    >>> some.has(np.array([3, 7])).tolist()
    [False, True]
    """

    def __init__(self, capacity: int, rate: float) -> None:
        if capacity < 1 or not 0 < rate < 1:
            raise UsageError(
                "bloom_size",
                f"no filter holds {capacity} codes at a rate of {rate}",
                hint="a rate lies between 0 and 1",
            )
        self.capacity, self.rate = capacity, rate
        self.counts: Bytes = np.zeros(max(8, math.ceil(-capacity * math.log(rate) / math.log(2) ** 2)), np.uint8)
        self.hashes = max(1, round(self.counts.size / capacity * math.log(2)))

    def add(self, codes: Longs) -> None:
        _change(self.counts, self.hashes, codes, 1)

    def remove(self, codes: Longs) -> None:
        """Codes that were added before, each as often as it was."""
        _change(self.counts, self.hashes, codes, -1)

    def has(self, codes: Longs) -> npt.NDArray[np.bool_]:
        return _probe(self.counts, self.hashes, codes)

    def has_any(self, codes: Longs, ends: Longs) -> npt.NDArray[np.bool_]:
        """Per run `codes[ends[k]:ends[k + 1]]` whether some code of it may be there."""
        return _probe_runs(self.counts, self.hashes, codes, ends)


@kernel
def _is_in(counts: Bytes, hashes: int, code: int) -> bool:
    """Two hashes make all of them (Kirsch and Mitzenmacher, ESA 2006)."""
    one, two = np.uint64(mix(np.int64(1), code)), np.uint64(mix(np.int64(2), code)) | np.uint64(1)
    k = 0
    while k < hashes and counts[(one + np.uint64(k) * two) % np.uint64(counts.size)]:
        k += 1
    return k == hashes


@kernel
def _change(counts: Bytes, hashes: int, codes: Longs, by: int) -> None:
    for i in range(codes.size):
        one = np.uint64(mix(np.int64(1), codes[i]))
        two = np.uint64(mix(np.int64(2), codes[i])) | np.uint64(1)
        for k in range(hashes):
            at = (one + np.uint64(k) * two) % np.uint64(counts.size)
            if counts[at] < _FULL:
                counts[at] += by


@kernel
def _probe(counts: Bytes, hashes: int, codes: Longs) -> npt.NDArray[np.bool_]:
    found = np.empty(codes.size, np.bool_)
    for i in range(codes.size):
        found[i] = _is_in(counts, hashes, codes[i])
    return found


@kernel
def _probe_runs(counts: Bytes, hashes: int, codes: Longs, ends: Longs) -> npt.NDArray[np.bool_]:
    found = np.zeros(ends.size - 1, np.bool_)
    for run in range(ends.size - 1):
        at = ends[run]
        while at < ends[run + 1] and not found[run]:
            found[run] = _is_in(counts, hashes, codes[at])
            at += 1
    return found
