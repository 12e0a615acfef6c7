"""What an index has found in a batch before verification, and the union of it and what verification proved."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints


class Found(NamedTuple):
    """Rows (document, pattern, witness) that hold, and rows (document, pattern) that must be verified."""

    matches: Ints
    candidates: Ints


@kernel
def merge(matches: Ints, pairs: Ints, witnesses: Ints) -> Ints:
    """Matches and those pairs that have a witness, as columns; all are ascending by document and so is the result."""
    count = matches.shape[0]
    for k in range(witnesses.size):
        count += witnesses[k] >= 0
    merged = np.empty((3, count), np.int32)
    used, i, k = 0, 0, 0
    while used < count:
        if k < witnesses.size and witnesses[k] < 0:
            k += 1
        elif k == witnesses.size or (i < matches.shape[0] and matches[i, 0] <= pairs[k, 0]):
            merged[0, used] = matches[i, 0]
            merged[1, used] = matches[i, 1]
            merged[2, used] = matches[i, 2]
            used += 1
            i += 1
        else:
            merged[0, used] = pairs[k, 0]
            merged[1, used] = pairs[k, 1]
            merged[2, used] = witnesses[k]
            used += 1
            k += 1
    return merged
