"""A flat array that grows at its end; what was handed out as `view` stays valid, because growth copies."""

from typing import Any

import numpy as np
import numpy.typing as npt


class Column:
    """
    >>> column = Column(np.int32)
    >>> column.extend(np.array([1, 2])); column.extend(np.array([3]))
    >>> column.view.tolist(), len(column)
    ([1, 2, 3], 3)
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._data: npt.NDArray[Any] = np.zeros(16, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def view(self) -> npt.NDArray[Any]:
        return self._data[: self._size]

    def extend(self, values: npt.NDArray[Any]) -> None:
        start = self._size
        self.reserve(start + len(values))
        self._data[start : start + len(values)] = values
        self._size = start + len(values)

    def resize(self, size: int, fill: int) -> None:
        """Grow to `size` items, new ones being `fill`. Zeros that nobody has written take no memory."""
        if size > self._size:
            before = self._data
            if self.reserve(size) is before or fill:
                self._data[self._size : size] = fill
            self._size = size

    def reserve(self, size: int) -> npt.NDArray[Any]:
        """The whole room, at least `size` items; a kernel may fill what lies beyond `len` and then `take` it."""
        if size > self._data.size:
            grown = np.zeros(max(size, 2 * self._data.size), self._data.dtype)
            grown[: self._size] = self._data[: self._size]
            self._data = grown
        return self._data

    def take(self, size: int) -> None:
        self._size = size
