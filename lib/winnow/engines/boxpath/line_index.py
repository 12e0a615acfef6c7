"""Structure, asked once: which lines does each path have? Joined with envelope trees and remembered.

A place is where a node can stand: `2 * path` for elements and attributes of a path, `2 * path + 1` for text in them.
Only new places meet old lines, and only new lines meet old places: no pair is ever joined twice.
"""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding import PathTable
from winnow.envelope import SYMBOL_MAX, SYMBOL_MIN, EnvelopeTree, Outlines, SequenceSet, insert, join
from winnow.patterns.runs import RunTable
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT


class LineIndex:
    """Lines, places, and the pairs of them. `update` brings the pairs up to date."""

    def __init__(self) -> None:
        self.lines = RunTable()
        self.has_text = False
        self._tree: EnvelopeTree | None = None
        self._joined = 0  # lines in the tree
        self._offsets, self._pairs = Column(np.int64), Column(np.int32)
        self._offsets.resize(1, 0)

    @property
    def places(self) -> int:
        return len(self._offsets) - 1

    @property
    def offsets(self) -> Longs:
        """Per place, into `pairs`."""
        return self._offsets.view

    @property
    def pairs(self) -> Ints:
        """Lines, ascending within a place."""
        return self._pairs.view

    def add(self, steps: Ints, ends: Longs) -> Ints:
        """The ids of lines, each once."""
        ids = self.lines.add(steps, ends)
        leaf = steps[ends[:-1]] >> 1
        self.has_text = self.has_text or bool((leaf == 0).any())
        return ids

    def preload(self, places: int, place: Ints, line: Ints) -> None:
        """Take over pairs that were joined elsewhere: all lines of this index with all places below `places`."""
        order = np.lexsort((line, place))
        self._pairs, self._offsets, self._tree = Column(np.int32), Column(np.int64), None
        self._pairs.extend(line[order])
        self._offsets.extend(np.concatenate([[0], np.cumsum(np.bincount(place, minlength=places))]))
        self._joined = len(self.lines)

    def update(self, paths: PathTable, symbols: Ints) -> int:
        """Join what is new; the number of new pairs. `symbols` are those of `PathSymbols`."""
        before = len(self._pairs)
        if self._joined < len(self.lines):
            self._join_lines(paths, symbols)
        if self.places < 2 * symbols.size:
            found = self._join_places(paths, symbols, self._asked(self.places, 2 * symbols.size))
            self._append(2 * symbols.size, *found)
        return len(self._pairs) - before

    def _asked(self, first: int, stop: int) -> Longs:
        """Without text in lines, places of text are not asked."""
        return np.arange(first, stop, 1 if self.has_text else 2)

    def _join_lines(self, paths: PathTable, symbols: Ints) -> None:
        new = np.arange(self._joined, len(self.lines), dtype=np.int32)
        sequences = line_sequences(self.lines, self._joined)
        if self.places:
            places = self._asked(0, self.places)
            data = place_sequences(paths.parents, symbols, places)
            pairs = join(EnvelopeTree.bulk_load(sequences, ids=new), data)
            self._merge(places[pairs.data], pairs.queries)
        if self._tree is not None:
            self._tree = insert(self._tree, sequences, ids=new)
        self._joined = len(self.lines)

    def _join_places(self, paths: PathTable, symbols: Ints, places: Longs) -> tuple[Longs, Ints]:
        if not len(self.lines):
            return np.zeros(0, np.int64), np.zeros(0, np.int32)
        if self._tree is None:  # not before a new place asks for it
            self._tree = EnvelopeTree.bulk_load(line_sequences(self.lines, 0))
        pairs = join(self._tree, place_sequences(paths.parents, symbols, places))
        return places[pairs.data], pairs.queries

    def _append(self, places: int, place: Longs, line: Ints) -> None:
        start = self.places
        counts = np.bincount(place - start, minlength=places - start)
        self._offsets.extend(len(self._pairs) + np.cumsum(counts))
        self._pairs.extend(line)

    def _merge(self, place: Longs, line: Ints) -> None:
        old = np.repeat(np.arange(self.places, dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(np.concatenate([old, place]), kind="stable")  # new lines have greater ids than old ones
        merged = np.concatenate([self.pairs, line])[order]
        counts = np.diff(self.offsets) + np.bincount(place, minlength=self.places)
        self._pairs, self._offsets = Column(np.int32), Column(np.int64)
        self._pairs.extend(merged)
        self._offsets.extend(np.concatenate([[0], np.cumsum(counts)]))


def line_sequences(lines: RunTable, first: int) -> SequenceSet:
    start = lines.offsets[first]
    steps = lines.pool[start:]
    symbol = steps >> 1
    low = np.where(symbol == ANY_ELEMENT, 1, np.where(symbol == ANY_ATTRIBUTE, SYMBOL_MIN, symbol))
    high = np.where(symbol == ANY_ELEMENT, SYMBOL_MAX, np.where(symbol == ANY_ATTRIBUTE, -1, symbol))
    return SequenceSet(
        lines.offsets[first:] - start, low.astype(np.int32), high.astype(np.int32), ((steps & 1) == 0).astype(np.uint8)
    )


def places_of(paths: Longs) -> Longs:
    """Two for each path.

    >>> places_of(np.array([1, 3])).tolist()
    [2, 3, 6, 7]
    """
    return np.add.outer(2 * paths, [0, 1]).ravel()


def place_sequences(parents: Ints, symbols: Ints, places: Longs) -> SequenceSet:
    """The symbols from these places up."""
    offsets, flat = _climb(parents, symbols, places)
    return SequenceSet(offsets, flat, flat)


@kernel
def _climb(parents: Ints, symbols: Ints, places: Longs) -> tuple[Longs, Ints]:
    offsets = np.zeros(places.size + 1, np.int64)
    flat = np.empty(1024, np.int32)
    used = 0
    for row, place in enumerate(places):
        if place & 1:
            flat[used] = 0
            used += 1
        at = place >> 1
        while at > 0:
            if used + 2 > flat.size:
                grown = np.empty(2 * flat.size, np.int32)
                grown[:used] = flat[:used]
                flat = grown
            flat[used] = symbols[at]
            used += 1
            at = parents[at]
        offsets[row + 1] = used
    return offsets, flat[:used].copy()


@kernel
def place_outlines(parents: Ints, symbols: Ints) -> Outlines:
    """The outlines of the sequences of all places; paths come after their parents."""
    places = 2 * symbols.size
    first, size, labels = np.zeros(places, np.int32), np.zeros(places, np.int32), np.zeros(places, np.uint64)
    for path in range(1, symbols.size):
        above, place = 2 * parents[path], 2 * path
        first[place], size[place] = symbols[path], size[above] + 1
        labels[place] = labels[above] | np.uint64(1) << np.uint64(symbols[path] & 63)
        size[place + 1], labels[place + 1] = size[place] + 1, labels[place] | np.uint64(1)
    return Outlines(first, size, labels)
