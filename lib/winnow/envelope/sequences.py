"""Sets of integer sequences, as flat arrays.

A position is a box: an interval of symbols. A concrete symbol has `low == high`. The sign of a symbol is its class:
`ANY` covers the non-negative symbols, `ANY_NEGATIVE` the others.

For `Relation.LINE` a query position also says how it is linked to the next one (`adjacent`): 1 for "the very next
position", 0 for "any later position". The link of the last position leads to the end of the data sequence: 1 anchors
the query there. Data sequences have no use for links.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.errors import DataError

SYMBOL_MIN = -(2**31)
SYMBOL_MAX = 2**31 - 1
ANY = (0, SYMBOL_MAX)
ANY_NEGATIVE = (SYMBOL_MIN, -1)
ACCESS = 2**30  # symbols from here on are access positions (see `packed_tree`)

Position: TypeAlias = int | tuple[int, int]


def _no_links() -> NDArray[np.uint8]:
    return np.empty(0, np.uint8)


@dataclass(frozen=True)
class SequenceSet:
    """Sequence `k` occupies `offsets[k]:offsets[k + 1]` of the flat arrays.

    An empty `adjacent` means no position is adjacent.
    """

    offsets: NDArray[np.int64]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    adjacent: NDArray[np.uint8] = field(default_factory=_no_links)

    def __post_init__(self) -> None:
        dtypes = {"offsets": np.int64, "low": np.int32, "high": np.int32, "adjacent": np.uint8}
        for name, dtype in dtypes.items():
            # The kernels are compiled for contiguous, writable arrays of exactly these types.
            object.__setattr__(self, name, np.require(getattr(self, name), dtype, ["C", "W"]))
        size = len(self.low)
        if not len(self.adjacent):
            object.__setattr__(self, "adjacent", np.zeros(size, np.uint8))
        ends = (int(self.offsets[0]), int(self.offsets[-1])) if len(self.offsets) else None
        if ends != (0, size) or (np.diff(self.offsets) < 0).any():
            raise DataError("sequence_offsets", f"offsets must rise from 0 to the {size} positions of the set")
        if len(self.high) != size or len(self.adjacent) != size:
            sizes = f"{size}, {len(self.high)}, {len(self.adjacent)}"
            raise DataError("sequence_arrays", f"low, high, adjacent differ in size: {sizes}")
        if not (self.low <= self.high).all():
            raise DataError("sequence_interval", "an interval has its low end above its high end")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_lists(
        cls, sequences: Iterable[Sequence[Position]], adjacent: Iterable[Sequence[int]] | None = None
    ) -> "SequenceSet":
        """For tests and small sets.

        >>> SequenceSet.from_lists([[3, ANY], []]).offsets
        array([0, 2, 2])
        """
        rows = [[(p, p) if isinstance(p, int) else p for p in sequence] for sequence in sequences]
        flat = np.array([p for row in rows for p in row], np.int64).reshape(-1, 2).astype(np.int32)
        links = np.array([bit for row in adjacent for bit in row], np.uint8) if adjacent is not None else _no_links()
        offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]).astype(np.int64)
        return cls(offsets, flat[:, 0], flat[:, 1], links)
