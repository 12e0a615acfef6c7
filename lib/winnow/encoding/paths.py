"""The path table: every distinct root-to-node label path seen in documents. It grows; an id never changes its meaning.

Path 0 is the document itself: no parent, no symbol, depth 0. The path of a root element has parent 0 and depth 1.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.arrays.kernel import kernel
from winnow.encoding.vocabulary import Vocabulary
from winnow.errors import DataError

DOCUMENT_PATH = 0
Ints = npt.NDArray[np.int32]


class PathTable:
    """
    >>> table = PathTable()
    >>> table.add(DOCUMENT_PATH, 7), table.add(1, 9), table.add(1, 9)
    (1, 2, 2)
    >>> table.parents.tolist(), table.symbols.tolist(), table.depths.tolist()
    ([-1, 0, 1], [-1, 7, 9], [0, 1, 2])
    """

    def __init__(self, rows: Iterable[tuple[int, int, int]] = ()) -> None:
        self._parents = np.full(1024, -1, np.int32)
        self._symbols = np.full(1024, -1, np.int32)
        self._depths = np.zeros(1024, np.int32)
        self._count = 1
        self._by_step: dict[tuple[int, int], int] | None = None
        self.extend(rows)

    @classmethod
    def of_columns(cls, parents: Ints, symbols: Ints) -> "PathTable":
        """The table with these paths, numbered from 1, parents first.

        >>> PathTable.of_columns(np.array([0, 1]), np.array([7, 9])).depths.tolist()
        [0, 1, 2]
        """
        table = cls()
        table.fill(parents, symbols)
        return table

    def fill(self, parents: Ints, symbols: Ints) -> None:
        """Gives an empty table these paths, numbered from 1, parents first."""
        count = parents.size + 1
        if len(self) > 1:
            raise DataError("path_conflict", "the table has paths already")
        if (parents < 0).any() or (parents >= np.arange(1, count)).any():
            raise DataError("path_gap", "a path comes before its parent")
        if np.unique(parents.astype(np.int64) << 32 | symbols).size < parents.size:
            raise DataError("path_conflict", "a label under one path has two paths")
        self._count, self._by_step = count, None
        self._parents, self._symbols = (np.append(-1, column).astype(np.int32) for column in (parents, symbols))
        self._depths = _depths(self._parents)

    def __len__(self) -> int:
        return self._count

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_by_step": None}

    @property
    def _ids(self) -> dict[tuple[int, int], int]:
        """Made when paths are asked for or come; whoever only knows them does without."""
        if self._by_step is None:
            steps = zip(self._parents[1 : self._count].tolist(), self._symbols[1 : self._count].tolist(), strict=True)
            self._by_step = dict(zip(steps, range(1, self._count), strict=True))
        return self._by_step

    def add(self, parent: int, symbol: int) -> int:
        """The id of the path that continues `parent` with `symbol`, a new one if there is none."""
        count = self._count
        path = self._ids.setdefault((parent, symbol), count)
        if path == count:
            self._count += 1
            if count == self._parents.size:
                self._parents, self._symbols, self._depths = (
                    np.concatenate([column, np.empty_like(column)])
                    for column in (self._parents, self._symbols, self._depths)
                )
            self._parents[count], self._symbols[count] = parent, symbol
            self._depths[count] = self._depths[parent] + 1
        return path

    def find(self, parent: int, symbol: int) -> int | None:
        return self._ids.get((parent, symbol))

    def step(self, path: int) -> tuple[int, int]:
        """(parent path, symbol) of a path."""
        return int(self._parents[path]), int(self._symbols[path])

    @property
    def parents(self) -> Ints:
        """The parent path of every path; always smaller than the path itself."""
        return self._filled(self._parents)

    @property
    def symbols(self) -> Ints:
        return self._filled(self._symbols)

    @property
    def depths(self) -> Ints:
        return self._filled(self._depths)

    def labels(self, path: int, vocabulary: Vocabulary) -> tuple[str, ...]:
        """The labels from the root to the node."""
        labels: list[str] = []
        while path != DOCUMENT_PATH:
            path, symbol = self.step(path)
            labels.append(vocabulary.label(symbol))
        return tuple(reversed(labels))

    def rows(self, *, start: int = 1) -> Iterator[tuple[int, int, int]]:
        """Rows (path, parent, symbol) from path `start` on, parents before children; the document is not a row."""
        return ((path, *self.step(path)) for path in range(start, len(self)))

    def extend(self, rows: Iterable[tuple[int, int, int]]) -> None:
        """Take over rows, in any order, of a table that continues this one; all or nothing."""
        new: dict[int, tuple[int, int]] = {}
        for path, parent, symbol in rows:
            known = self.step(path) if 0 < path < len(self) else new.setdefault(path, (parent, symbol))
            if known != (parent, symbol):
                raise DataError(
                    "path_conflict",
                    f"path {path} is (parent, symbol) {known} here and {(parent, symbol)} in the added rows",
                    hint="the two were grown apart; encode the documents again with one path table",
                )
        distinct = len(set(new.values())) == len(new)
        for expected, (path, (parent, symbol)) in enumerate(sorted(new.items()), start=len(self)):
            if path != expected or not 0 <= parent < path:
                raise DataError("path_gap", f"path {path} with parent {parent} cannot follow path {expected - 1}")
            if (parent, symbol) in self._ids or not distinct:
                raise DataError("path_conflict", f"(parent, symbol) {(parent, symbol)} of path {path} has two paths")
        for path in sorted(new):
            self.add(*new[path])

    def merge(self, other: "PathTable", symbols: Ints) -> Ints:
        """Add the paths of a table that was grown apart; the result maps its paths to those of this one.

        `symbols` maps the other's symbols to this one's, as `Vocabulary.merge` returns it.
        """
        mapping = np.zeros(len(other), np.int32)
        for path, parent, symbol in other.rows():
            mapping[path] = self.add(int(mapping[parent]), int(symbols[symbol]))
        return mapping

    def _filled(self, column: Ints) -> Ints:
        values = column[: len(self)]
        values.setflags(write=False)
        return values


@kernel
def _depths(parents: Ints) -> Ints:
    depths = np.zeros(parents.size, np.int32)
    for path in range(1, parents.size):
        depths[path] = depths[parents[path]] + 1
    return depths
