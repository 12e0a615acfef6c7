"""One index partition as one immutable file that all Python workers of a machine map, so that they share its pages.

The file is a header, a pickle of the objects without their arrays, and the arrays, each on a 64-byte boundary (pickle
protocol 5, out-of-band buffers: PEP 574). It is mapped copy-on-write: nobody can change the file, and what a worker
writes, where its tables grow with the documents it meets, is its own. Unpickling finds classes of this package and
NumPy's arrays and nothing else.
"""

import hashlib
import io
import mmap
import pickle
import struct
from pathlib import Path
from typing import IO, Any

from winnow.errors import DataError

MAGIC = b"winnow index 2\n\0"
_HEADER = struct.Struct("<16sqq")  # magic, length of the pickle, number of buffers
_ALIGNMENT = 64
_FROM_OUTSIDE = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "scalar"),
    ("numpy._core.numeric", "_frombuffer"),
    ("array", "_array_reconstructor"),
    ("array", "array"),
    ("builtins", "bytearray"),
    ("builtins", "set"),
    ("builtins", "frozenset"),
}


def write_index(value: Any, out: IO[bytes]) -> str:
    """Writes `value`; returns the sha256 of what was written, which is the file's name wherever it goes."""
    buffers: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    digest = hashlib.sha256()

    def put(data: bytes | memoryview) -> None:
        digest.update(data)
        out.write(data)

    sizes = struct.pack(f"<{len(raw)}q", *(view.nbytes for view in raw))
    put(_HEADER.pack(MAGIC, len(stream), len(raw)) + sizes + stream)
    written = _HEADER.size + len(sizes) + len(stream)
    for view in raw:
        put(bytes(-written % _ALIGNMENT))
        put(view)
        written += -written % _ALIGNMENT + view.nbytes
    return digest.hexdigest()


def open_index(path: Path) -> Any:
    """Returns what was written, its arrays lying in the mapped file."""
    with path.open("rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    if len(mapped) < _HEADER.size or bytes(mapped[: len(MAGIC)]) != MAGIC:
        raise DataError("index_format", f"{path.name} is not an index of this version", hint="build the index anew")
    _, length, count = _HEADER.unpack_from(mapped)
    start = _HEADER.size + 8 * count
    sizes = struct.unpack_from(f"<{count}q", mapped, _HEADER.size)
    end = start + length
    buffers = []
    for size in sizes:
        begin = end + -end % _ALIGNMENT
        end = begin + size
        buffers.append(mapped[begin:end])
    if end != len(mapped):
        raise DataError("index_truncated", f"{path.name} has {len(mapped)} bytes of {end}", hint="fetch it again")
    return _Unpickler(io.BytesIO(mapped[start : start + length]), buffers=buffers).load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _FROM_OUTSIDE:
            return super().find_class(module, name)
        found = super().find_class(module, name) if module.startswith("winnow.") and "." not in name else None
        if isinstance(found, type) and found.__module__.startswith("winnow."):
            return found
        raise DataError("index_content", f"the index names {module}.{name}, which no index has", hint="build it anew")
