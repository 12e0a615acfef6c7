"""XTrie's substring table: the rows of all patterns, and per substring those of live patterns that it leads to."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Bytes, Ints, Longs
from winnow.engines.predicates.access import Rows
from winnow.engines.predicates.families import ValueIndex
from winnow.engines.xtrie.decompose import decompose
from winnow.engines.xtrie.rows import BITS, INNER, LEAST, OWNER, PARENT, ROW, SUBSTRING, TEST
from winnow.engines.xtrie.trie import Trie, TrieTable
from winnow.patterns.lines import LEAF
from winnow.patterns.twigs import Twigs

# An item of a block: a row, the key of what is above it or -1, how far, and the bits of the row. See `key_of`.
ITEM_ROW, ITEM_ABOVE, ITEM_LEAST, ITEM_BITS, ITEM = range(5)


class Blocks(NamedTuple):
    """What a substring leads to. Blocks are the paper's lists of rows with the same substring."""

    trie: Trie
    rows: Ints
    masks: Longs
    block: Rows  # per substring: items, of rows without tests
    place: Ints  # per substring: the place of its rows with tests, or -1
    is_inner: Bytes  # per substring: some row with it has children

    @property
    def nbytes(self) -> int:
        """Of what is not the table's."""
        arrays = (self.trie.nodes, *self.block, self.place, self.is_inner)
        return sum(int(array.nbytes) for array in arrays)


class SubstringTable:
    def __init__(self) -> None:
        self.trie = TrieTable()
        self._rows, self._masks = Column(np.int32), Column(np.int64)

    def __len__(self) -> int:
        return len(self._rows) // ROW

    @property
    def nbytes(self) -> int:
        return int(self._rows.view.nbytes + self._masks.view.nbytes) + self.trie.nbytes

    def add(self, twigs: Twigs, new: range, height: int) -> Ints:
        """Take up new patterns; which of them have rows."""
        found = decompose(twigs, new.start, new.stop, height, len(self))
        rows = found.rows.reshape(-1, ROW)
        rows[:, SUBSTRING] = self.trie.add(found.labels, found.ends)
        self._rows.extend(found.rows)
        self._masks.extend(found.masks)
        return np.unique(rows[:, OWNER])

    def blocks(self, live: "np.typing.NDArray[np.bool_]", values: ValueIndex, *, is_lazy: bool) -> Blocks:
        """The rows that documents ask for; those with tests go to `values`."""
        rows = self._rows.view.reshape(-1, ROW)
        substrings = self.trie.substrings
        is_live = live[rows[:, OWNER]]
        is_inner = rows[:, BITS] & INNER != 0
        has_test = rows[:, TEST] != LEAF
        tested = np.flatnonzero(is_live & has_test)
        places, place_of = np.unique(rows[tested, SUBSTRING], return_inverse=True)
        place = np.full(substrings, -1, np.int32)
        place[places] = np.arange(places.size)
        values.add(place_of.astype(np.int32), rows[tested, TEST], tested.astype(np.int32))
        chosen = np.flatnonzero(is_live & ~has_test & ~(is_lazy & is_inner))
        chosen = chosen[np.argsort(rows[chosen, SUBSTRING], kind="stable")]  # parents stay before their children
        above = rows[chosen, PARENT]
        items = np.empty((chosen.size, ITEM), np.int32)
        items[:, ITEM_ROW] = chosen
        items[:, ITEM_ABOVE] = np.where(above < 0, -1, rows[above, SUBSTRING] if is_lazy else above)
        items[:, ITEM_LEAST] = rows[chosen, LEAST]
        items[:, ITEM_BITS] = rows[chosen, BITS]
        offsets = np.zeros(substrings + 1, np.int64)
        np.cumsum(np.bincount(rows[chosen, SUBSTRING], minlength=substrings), out=offsets[1:])
        inner = np.zeros(substrings, np.uint8)
        inner[rows[is_live & is_inner, SUBSTRING]] = 1
        return Blocks(
            self.trie.trie(), self._rows.view, self._masks.view, Rows(offsets, items.reshape(-1)), place, inner
        )
