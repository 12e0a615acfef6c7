"""A sample of documents of a fixed size that every process draws alike, and that merges exactly.

Reservoir sampling (Vitter; Miliaraki and Koubarakis, DEBS 2010, §5.2) keeps n random documents of a stream. Here the
random numbers are hashes of the documents' names: the n documents of the lowest ranks are kept. So drawing again gives
the same sample, and the sample of a union is the lowest n of the samples of its parts.
"""

import numpy as np
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Longs
from winnow.index.codes import bytes_code

SAMPLE = 1000  # documents


def ranks(names: pa.Array | pa.ChunkedArray) -> Longs:
    """Evenly spread over all integers, whatever the names are."""
    names = names.cast(pa.large_string())
    column = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return np.zeros(len(column), np.int64)
    ends = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return _ranks(np.frombuffer(data, np.uint8), ends)


def last_rank(ranks: Longs, size: int = SAMPLE) -> int:
    """The sample is what has this rank or a lower one. `ranks` are distinct.

    >>> last_rank(np.array([5, -3, 9, 0]), 2), last_rank(np.array([5, -3]), 2)
    (0, 5)
    """
    return int(np.partition(ranks, size - 1)[size - 1] if ranks.size > size else ranks.max())


@kernel
def _ranks(data: Bytes, ends: Longs) -> Longs:
    found = np.empty(ends.size - 1, np.int64)
    for k in range(found.size):
        found[k] = bytes_code(np.int64(0), data, ends[k], ends[k + 1])
    return found
