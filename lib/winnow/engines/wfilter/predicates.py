"""WFilter's predicates (Martins and Pereira, §4.3 and §4.5): each once, and how a document node finds its own.

A label has at most two: that of its positions and that of the root. Tests of values are in families, one for each pair
of an element's label and what of it is tested; here such a pair is a place.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding.simd import raw
from winnow.engines.automata.xfilter_machines import ANY_ATTRIBUTE_KEY, ANY_ELEMENT_KEY, key_of
from winnow.engines.predicates.families import ValueIndex
from winnow.engines.wfilter.expressions import ITEM, LABEL, OP, OP_BITS, ROOT, SELF, Expressions
from winnow.engines.wfilter.vectors import Vectors, enter
from winnow.patterns.lines import LEAF
from winnow.patterns.runs import RunTable
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT

PREDICATE = 3  # numbers each: label, what, test
# Places of a path: four of the element around an attribute (or, two of them, around a text), and then its own. Then
# the same for the text nodes below the path.
AROUND, OWN, TEXT_AROUND, TEXT_OWN, PLACES = 0, 4, 6, 8, 9


class Index(NamedTuple):
    position: Ints  # per key of a label (see `key_of`): its predicate, or -1
    root: Ints
    last: Ints  # per expression: the key of its last label


@inlined
def raw_index(index: Index) -> Index:
    return Index(raw(index.position), raw(index.root), raw(index.last))


@kernel
def enter_label(index: Index, vectors: Vectors, entries: Ints, used: int, node: tuple[int, int]) -> int:
    """Enter what a label, or text, meets at a level: four predicates at most."""
    symbol, level = node
    key = key_of(symbol)
    used = enter(vectors, entries, used, index.position[key], level)
    if symbol > 0:
        used = enter(vectors, entries, used, index.position[ANY_ELEMENT_KEY], level)
    elif symbol < 0:
        used = enter(vectors, entries, used, index.position[ANY_ATTRIBUTE_KEY], level)
    if level == 1:
        used = enter(vectors, entries, used, index.root[key], level)
        used = enter(vectors, entries, used, index.root[ANY_ELEMENT_KEY], level)
    return used


class PredicateTable:
    def __init__(self) -> None:
        self.values = ValueIndex()
        self._predicates, self._places = RunTable(), RunTable()
        self._position, self._root = Column(np.int32), Column(np.int32)
        self._path_places, self._known_places = Column(np.int32), 0

    def __len__(self) -> int:
        return len(self._predicates)

    @property
    def nbytes(self) -> int:
        arrays = (self._predicates.pool, self._places.pool, self._position.view, self._root.view)
        return sum(int(array.nbytes) for array in arrays) + self.values.nbytes

    @property
    def rows(self) -> Ints:
        return self._predicates.pool.reshape(-1, PREDICATE)

    def index(self, labels: int, last: Ints) -> Index:
        """For a vocabulary of so many labels. `last` has the key of each expression's last label."""
        self._reserve(labels)
        return Index(self._position.view, self._root.view, last)

    def keys(self, codes: Ints) -> Ints:
        """The keys of the labels of items."""
        return keys_of(self.rows[codes >> OP_BITS, 0])

    def codes(self, expressions: Expressions, labels: int) -> Ints:
        """Each item as one number: the predicate and, in the lowest bits, how it goes on."""
        self._reserve(labels)
        known = len(self)
        items = expressions.items.reshape(-1, ITEM)
        ids = self._predicates.add(items[:, LABEL:].ravel(), PREDICATE * np.arange(len(items) + 1))
        self._take_up(known)
        return ids << OP_BITS | items[:, OP]

    def places(self, symbols: Ints, parents: Ints) -> Ints:
        """Per path, PLACES numbers: where its values are asked for, or -1."""
        if self._known_places != len(self._places):
            self._path_places, self._known_places = Column(np.int32), len(self._places)
        known = len(self._path_places) // PLACES
        if known < symbols.size:
            self._path_places.extend(self._places_of(symbols[known:], symbols[parents[known:]]).ravel())
        view: Ints = self._path_places.view
        return view

    def _reserve(self, labels: int) -> None:
        self._position.resize(labels + 2, -1)
        self._root.resize(labels + 2, -1)

    def _take_up(self, known: int) -> None:
        label, what, test = self.rows[known:].T
        ids = np.arange(known, len(self), dtype=np.int32)
        key = keys_of(label)
        is_step = test == LEAF
        for column, wanted in ((self._root, is_step & (what == ROOT)), (self._position, is_step & (what != ROOT))):
            column.view[key[wanted]] = ids[wanted]
        tested = np.flatnonzero(~is_step)
        pairs = np.column_stack([label, what])[tested].ravel()
        place = self._places.add(pairs, 2 * np.arange(tested.size + 1))
        self.values.add(place, test[tested], ids[tested])

    def _places_of(self, symbol: Ints, parent: Ints) -> Ints:
        everything = np.full(symbol.size, ANY_ELEMENT, np.int32)
        same, any_attribute = np.full_like(symbol, SELF), np.full_like(symbol, ANY_ATTRIBUTE)
        text = np.zeros_like(symbol)
        is_attribute = symbol < 0
        anything = np.where(is_attribute, any_attribute, everything)
        nowhere = np.full_like(symbol, -1)
        around = [(parent, symbol), (everything, symbol), (parent, any_attribute), (everything, any_attribute)]
        columns = [np.where(is_attribute, self._place(*pair), nowhere) for pair in around]
        columns += [self._place(symbol, same), self._place(anything, same)]
        columns += [self._place(symbol, text), self._place(everything, text), self._place(text, same)]
        return np.column_stack(columns).astype(np.int32)

    def _place(self, label: Ints, what: Ints) -> Longs:
        """The place of each pair, or -1."""
        if not len(self._places):
            return np.full(label.size, -1, np.int64)
        known = _joined(*self._places.pool.reshape(-1, 2).T)
        order = np.argsort(known)
        wanted = _joined(label, what)
        at = order[np.minimum(np.searchsorted(known, wanted, sorter=order), known.size - 1)]
        return np.where(known[at] == wanted, at, -1)


def keys_of(labels: Ints) -> Ints:
    """As `key_of`, of many."""
    keys: Ints = np.where(labels == ANY_ATTRIBUTE, ANY_ATTRIBUTE_KEY, abs(labels) + 2)
    return np.where(labels == ANY_ELEMENT, ANY_ELEMENT_KEY, keys)


def _joined(label: Ints, what: Ints) -> Longs:
    joined: Longs = label.astype(np.int64) << 32 | (what.astype(np.int64) & 0xFFFFFFFF)
    return joined
