"""The vocabulary: labels and the symbols that stand for them. It grows; a symbol never changes its meaning.

A label is an expanded name: `{uri}local` or `local` for elements, `@{uri}local` or `@local` for attributes, and
`text()` for text nodes.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from winnow.errors import DataError
from winnow.xpath.pattern import Kind

TEXT_LABEL = "text()"
TEXT_SYMBOL = 0


def kind_of(label: str) -> Kind:
    """
    >>> kind_of("{urn:x}a"), kind_of("@a"), kind_of("text()")
    (<Kind.ELEMENT: 0>, <Kind.ATTRIBUTE: 1>, <Kind.TEXT: 2>)
    """
    if label == TEXT_LABEL:
        return Kind.TEXT
    return Kind.ATTRIBUTE if label.startswith("@") else Kind.ELEMENT


class Vocabulary:
    """
    >>> words = Vocabulary()
    >>> words.add("{urn:x}a"), words.add("@id"), words.add("{urn:x}a")
    (1, 2, 1)
    >>> words.label(2), words.find("b")
    ('@id', None)
    >>> list(words.rows(start=1))
    [(1, '{urn:x}a'), (2, '@id')]
    """

    def __init__(self, rows: Iterable[tuple[int, str]] = ()) -> None:
        self._labels: list[str] = [TEXT_LABEL]
        self._symbols: dict[str, int] = {TEXT_LABEL: TEXT_SYMBOL}
        self.extend(rows)

    def __len__(self) -> int:
        return len(self._labels)

    def add(self, label: str) -> int:
        """The label's symbol, a new one if it has none."""
        symbol = self._symbols.setdefault(label, len(self._labels))
        if symbol == len(self._labels):
            self._labels.append(label)
        return symbol

    def find(self, label: str) -> int | None:
        return self._symbols.get(label)

    def label(self, symbol: int) -> str:
        return self._labels[symbol]

    def labels(self) -> Sequence[str]:
        """All labels; the index is the symbol."""
        return tuple(self._labels)

    def kinds(self) -> npt.NDArray[np.uint8]:
        """The `Kind` of every symbol."""
        return np.array([kind_of(label) for label in self._labels], np.uint8)

    def rows(self, *, start: int = 0) -> Iterator[tuple[int, str]]:
        """Rows (symbol, label) from symbol `start` on; an earlier `len` as `start` gives what is new since then."""
        return ((symbol, self._labels[symbol]) for symbol in range(start, len(self._labels)))

    def extend(self, rows: Iterable[tuple[int, str]]) -> None:
        """Take over rows, in any order, of a vocabulary that continues this one; all or nothing."""
        new: dict[int, str] = {}
        for symbol, label in rows:
            known = self._labels[symbol] if 0 <= symbol < len(self._labels) else new.setdefault(symbol, label)
            if known != label:
                raise DataError(
                    "vocabulary_conflict",
                    f"symbol {symbol} means {known!r} here and {label!r} in the added rows",
                    hint="the two were grown apart; encode the documents again with one vocabulary",
                )
        distinct = len(set(new.values())) == len(new)
        for expected, (symbol, label) in enumerate(sorted(new.items()), start=len(self._labels)):
            if symbol != expected:
                raise DataError("vocabulary_gap", f"the rows go on with symbol {symbol}; {expected} is missing")
            if label in self._symbols or not distinct:
                raise DataError("vocabulary_conflict", f"label {label!r} of symbol {symbol} has another symbol, too")
        for symbol in sorted(new):
            self.add(new[symbol])

    def merge(self, other: "Vocabulary") -> npt.NDArray[np.int32]:
        """Add the labels of a vocabulary that was grown apart; the result maps its symbols to those of this one."""
        return np.array([self.add(label) for label in other._labels], np.int32)
