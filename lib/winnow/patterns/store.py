"""The store of patterns: ids for distinct patterns, and their twigs as flat arrays for engines and verification."""

from array import array
from collections.abc import Iterable

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Ints, Longs
from winnow.encoding.vocabulary import Vocabulary
from winnow.errors import UsageError
from winnow.patterns.intern import Interned, head_of, intern_stream, rehash
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT, DOCUMENT, FIRST, ORDERED, Tests, Twigs
from winnow.xpath.pattern import Kind, Node, Pattern, Test

_ELEMENT, _ATTRIBUTE = Kind.ELEMENT, Kind.ATTRIBUTE


class PatternStore:
    """Patterns of one vocabulary. An id never changes its meaning; nothing is ever forgotten.

    >>> from winnow.xpath import compile_profile
    >>> store = PatternStore(Vocabulary())
    >>> store.add([p for x in ("//a[b]", "/a", "//a[b]") for p in compile_profile(x).alternatives]).tolist()
    [0, 1, 0]
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._pool, self._offsets, self._roots = Column(np.int32), Column(np.int64), Column(np.int32)
        self._offsets.resize(1, 0)
        self._slots: Ints = np.zeros(1024, np.int32)
        self._ids = Column(np.int32)  # per twig: the pattern whose root it is, or -1
        self._tests: dict[Test, int] = {}
        self._ops, self._numbers, self._text = array("B"), array("d"), bytearray()
        self._spans = array("q", [0])
        self._elements: dict[str | None, int] = {None: ANY_ELEMENT}
        self._attributes: dict[str | None, int] = {None: ANY_ATTRIBUTE}
        self._frozen: Twigs | None = None
        self.has_values = False  # some pattern asks for values or text nodes
        self.height = 1  # bounds the nodes of one pattern, and so the depth of every walk over it

    def __len__(self) -> int:
        return len(self._roots)

    def add(self, patterns: Iterable[Pattern]) -> Ints:
        """The ids of the patterns; those from the earlier `len` on are new."""
        return self.add_stream(*self.flatten(patterns))

    def flatten(self, patterns: Iterable[Pattern]) -> tuple[Ints, Longs]:
        """The patterns as a stream for `intern_stream`, each at `stream[ends[k]:ends[k + 1]]`; nothing is added yet."""
        stream = array("i")
        ends = array("q", [0])
        for pattern in patterns:
            for node in pattern.children:
                self._flatten(node, pattern.ordered, stream)
            stream.append(head_of(0, DOCUMENT | _order(pattern.children, pattern.ordered), 0, len(pattern.children)))
            stream.append(0)
            ends.append(len(stream))
        return np.array(stream, np.int32), np.array(ends, np.int64)

    def add_stream(self, stream: Ints, ends: Longs) -> Ints:
        """The ids of patterns that are flat already, with this store's symbols and tests."""
        if not self._spans:
            raise UsageError("index_frozen", "this index takes no further profiles", hint="build it anew with all")
        longest = int(np.diff(ends).max(initial=0))
        self.height = max(self.height, longest)
        return self._intern(stream, longest, ends.size - 1)

    def freeze(self) -> None:
        """Keeps the twigs and forgets what finds equal patterns, which is more than half of the memory."""
        self._frozen = self.twigs
        self._slots, self._ids = np.zeros(0, np.int32), Column(np.int32)
        self._pool, self._offsets = Column(np.int32), Column(np.int64)
        self._tests, self._ops, self._numbers, self._text = {}, array("B"), array("d"), bytearray()
        self._spans = array("q")

    def test_ids(self, tests: Iterable[Test]) -> Ints:
        self.has_values = True
        return np.array([self._tests[t] if t in self._tests else self._test(t) for t in tests], np.int32)

    @property
    def tests(self) -> list[Test]:
        """By id."""
        return list(self._tests)

    @property
    def twigs(self) -> Twigs:
        if self._frozen is None:
            tests = Tests(
                np.array(self._ops, np.uint8),
                np.array(self._numbers, np.float64),
                np.array(self._spans[:-1], np.int64),
                np.array(self._spans[1:], np.int64),
                np.frombuffer(bytes(self._text), np.uint8).copy(),
            )
            self._frozen = Twigs(self._pool.view, self._offsets.view, self._roots.view, tests)
        return self._frozen

    def _flatten(self, node: Node, ordered: bool, stream: "array[int]") -> None:
        axis, kind, label, tests, children, first = node
        for child in children:
            self._flatten(child, ordered, stream)
        flags = kind + (FIRST if first and tests else 0)
        if ordered:
            flags |= _order(children, ordered)
        stream.append(head_of(axis, flags, len(tests), len(children)))
        if kind is _ELEMENT:
            symbol = self._elements.get(label) or self._element(label)
        elif kind is _ATTRIBUTE:
            symbol = self._attributes.get(label) or self._attribute(label)
        else:
            symbol = 0
        if tests or symbol == 0:
            self.has_values = True
        stream.append(symbol)
        for test in tests:
            known = self._tests.get(test)
            stream.append(self._test(test) if known is None else known)

    def _element(self, label: str | None) -> int:
        return self._elements.setdefault(label, self.vocabulary.add(str(label)))

    def _attribute(self, label: str | None) -> int:
        return self._attributes.setdefault(label, -self.vocabulary.add(f"@{label}"))

    def _test(self, test: Test) -> int:
        op, operand = test
        self._ops.append(op)
        self._numbers.append(operand if isinstance(operand, float) else 0.0)
        if isinstance(operand, str):
            self._text += operand.encode()
        self._spans.append(len(self._text))
        return self._tests.setdefault(test, len(self._tests))

    def _intern(self, stream: Ints, longest: int, count: int) -> Ints:
        twigs, used = len(self._offsets) - 1, len(self._pool)
        pool = self._pool.reserve(used + 2 * stream.size + 8)
        offsets = self._offsets.reserve(twigs + stream.size + 2)
        if 2 * (twigs + stream.size) > self._slots.size:
            self._slots = np.zeros(1 << (4 * (twigs + stream.size)).bit_length(), np.int32)
            rehash(pool, offsets, twigs, self._slots)
        state = np.array([twigs, used], np.int64)
        roots = np.empty(count, np.int32)
        intern_stream(stream, Interned(pool, offsets, self._slots, state), np.empty(longest + 1, np.int32), roots)
        self._offsets.take(int(state[0]) + 1)
        self._pool.take(int(state[1]))
        self._ids.resize(int(state[0]), -1)
        self._frozen = None
        return self._number(roots)

    def _number(self, roots: Ints) -> Ints:
        """Pattern ids in the order in which the patterns came."""
        ids = self._ids.view
        unknown = roots[ids[roots] < 0]
        new = unknown[np.sort(np.unique(unknown, return_index=True)[1])]
        ids[new] = np.arange(len(self), len(self) + new.size, dtype=np.int32)
        self._roots.extend(new)
        return ids[roots]


def _order(children: tuple[Node, ...], ordered: bool) -> int:
    return ORDERED if ordered and sum(child.kind is not _ATTRIBUTE for child in children) > 1 else 0
