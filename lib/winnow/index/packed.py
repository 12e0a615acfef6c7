"""Runs of whole numbers as bytes: columns that are read whole, of which few rows are then unpacked.

Each number is its difference from the one before, small ones first (zigzag), seven bits a byte (LEB128). As lists of
numbers such columns would cost ten times as much to read, since Parquet makes an array of every list.
"""

import numpy as np
import pyarrow as pa

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Ints, Longs

_LONGEST = 5  # bytes of one difference of 32 bits


def pack(numbers: Ints, ends: Longs) -> pa.BinaryArray:
    """Run k is `numbers[ends[k]:ends[k + 1]]`.

    >>> pack(np.array([7, 8, 300], np.int32), np.array([0, 2, 3])).to_pylist()
    [b'\\x0e\\x02', b'\\xd8\\x04']
    """
    return binary(*_pack(np.ascontiguousarray(numbers, np.int32), np.ascontiguousarray(ends, np.int64)))


def binary(data: Bytes, offsets: Ints | Longs) -> pa.BinaryArray:
    """Items `data[offsets[k]:offsets[k + 1]]`."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets, np.int32)), pa.py_buffer(data)]
    return pa.BinaryArray.from_buffers(pa.binary(), offsets.size - 1, buffers)


def items(column: pa.BinaryArray) -> tuple[Bytes, Ints]:
    """The data and offsets of `binary`."""
    _, offsets, data = column.buffers()
    bounds = (
        np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1] if len(column) else _NO_RUNS
    )
    return np.frombuffer(data, np.uint8) if data else _NO_BYTES, bounds


def unpack(runs: pa.BinaryArray) -> tuple[Ints, Longs]:
    """The numbers and ends of the runs.

    >>> numbers, ends = unpack(pack(np.array([7, 8, 300], np.int32), np.array([0, 2, 3])))
    >>> numbers.tolist(), ends.tolist()
    ([7, 8, 300], [0, 2, 3])
    """
    return _unpack(*items(runs))


_NO_BYTES = np.frombuffer(b"", np.uint8)
_NO_RUNS = np.frombuffer(np.zeros(1, np.int32).tobytes(), np.int32)  # read-only, as what Arrow gives


@kernel
def _pack(numbers: Ints, ends: Longs) -> tuple[Bytes, Ints]:
    data = np.empty(_LONGEST * numbers.size, np.uint8)
    offsets = np.zeros(ends.size, np.int32)
    at = 0
    for run in range(ends.size - 1):
        before = np.int64(0)
        for k in range(ends[run], ends[run + 1]):
            change = np.int64(numbers[k]) - before
            before = np.int64(numbers[k])
            rest = (change << 1) ^ (change >> 63)
            while rest >= 128:
                data[at] = (rest & 127) | 128
                at += 1
                rest >>= 7
            data[at] = rest
            at += 1
        offsets[run + 1] = at
    return data[:at].copy(), offsets


@kernel
def _unpack(data: Bytes, offsets: Ints) -> tuple[Ints, Longs]:
    numbers = np.empty(offsets[-1] - offsets[0], np.int32)
    ends = np.zeros(offsets.size, np.int64)
    used = 0
    for run in range(offsets.size - 1):
        before = np.int64(0)
        at = offsets[run]
        while at < offsets[run + 1]:
            rest, shift = np.int64(0), 0
            while data[at] >= 128:
                rest |= np.int64(data[at] & 127) << shift
                shift += 7
                at += 1
            rest |= np.int64(data[at]) << shift
            at += 1
            before += (rest >> 1) ^ -(rest & 1)
            numbers[used] = before
            used += 1
        ends[run + 1] = used
    return numbers[:used].copy(), ends
