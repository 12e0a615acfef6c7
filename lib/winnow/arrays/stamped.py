"""Numbers per item that count only under the stamp of whoever wrote them, so that nothing is cleared between calls."""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Ints

_LAST = 2**31 - 1


class Stamped:
    """`width` numbers per item, of which the first is the stamp.

    >>> stamped = Stamped()
    >>> stamped.room(3, 5).tolist(), stamped.last
    ([0, 0, 0], 0)
    >>> stamped.last = 5
    >>> stamped.room(2, 2**31).size, stamped.last
    (3, 0)
    """

    def __init__(self, width: int = 1) -> None:
        self._width = width
        self._numbers = Column(np.int32)
        self.last = 0  # the last stamp given; it and all below are in use

    def room(self, items: int, stamps: int) -> Ints:
        """Room for so many items, in which at least so many stamps after `last` are free."""
        if self.last + stamps > _LAST:
            self._numbers.view[:] = 0
            self.last = 0
        self._numbers.resize(self._width * items, 0)
        view: Ints = self._numbers.view
        return view
