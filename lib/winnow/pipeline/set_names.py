"""Names of sets of profile versions that depend on what is in them alone, whatever way they came about.

A name is two sums over all rows, each of a code of 64 bits (an incremental multiset hash, MSet-Add-Hash of Clarke et
al., ASIACRYPT 2003): what comes is added to the name of what was there, and the others need not be read.
"""

import numpy as np
import pyarrow as pa

from winnow.arrays.types import Bytes, Flags, Ints
from winnow.index.codes import add_column
from winnow.index.packed import items
from winnow.pipeline.profiles import SET_COLUMNS

_SEEDS = (0, 1)


def set_name(rows: pa.Table, base: str = "") -> str:
    """Of these rows, and of all in the set with the name `base`, in any order.

    >>> one, two = (pa.table({name: pa.array([name + x]) for name in SET_COLUMNS}) for x in "ab")
    >>> set_name(two, set_name(one)) == set_name(pa.concat_tables([two, one])) != set_name(one)
    True
    """
    columns = [rows.column(name).cast(pa.string()).combine_chunks() for name in SET_COLUMNS]
    texts = [(*items(c.cast(pa.binary())), c.is_null().to_numpy(zero_copy_only=False)) for c in columns]
    sums = [_sum(rows.num_rows, texts, seed) for seed in _SEEDS]
    before = [int(base[:16], 16), int(base[16:], 16)] if base else [0, 0]
    return "".join(f"{(old + new) % 2**64:016x}" for old, new in zip(before, sums, strict=True))


def _sum(count: int, texts: list[tuple[Bytes, Ints, Flags]], seed: int) -> int:
    codes = np.full(count, seed, np.int64)
    for data, ends, is_null in texts:
        add_column(codes, data, ends, is_null)
    return int(codes.view(np.uint64).sum(dtype=np.uint64))
