"""XTrie: substrings of patterns in a trie, and a table of how they hang together (Chan et al., ICDE 2002).

Whole patterns are in the table, branches and order included, so there is one condition for each pattern. One that is a
single line is decided by it; every other is a candidate, because values, wildcards and texts are only partly in the
table (see `xtrie_decompose`).
"""

import numpy as np
import numpy.typing as npt

from winnow.arrays.column import Column
from winnow.arrays.stamped import Stamped
from winnow.arrays.types import Floats, Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.engines.automata.conditions import Asked
from winnow.engines.automata.filtering import FilteringEngine
from winnow.engines.automata.reading import Read
from winnow.engines.predicates.families import ValueIndex
from winnow.engines.xtrie.levels import Levels
from winnow.engines.xtrie.read import Board, read_substrings
from winnow.engines.xtrie.table import Blocks, SubstringTable
from winnow.patterns.lines import LEAF, Lines


class XTrie(FilteringEngine):
    """The lazy variant: a substring leads to the table only where it ends a pattern."""

    is_lazy = True
    strategies = ()  # values are in the table

    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        super().__init__(vocabulary, paths)
        self._table, self._values = SubstringTable(), ValueIndex()
        self._blocks: Blocks | None = None
        self._last_entry, self._last_meeting, self._met = Column(np.int32), Column(np.int32), Stamped()
        self._probes = 0

    def _changed(self) -> None:
        super()._changed()
        self._blocks = None

    def _ask(self, new: range, lines: Lines) -> tuple[Asked, npt.NDArray[np.bool_]]:
        owner = self._table.add(self.store.twigs, new, self.store.height)
        nothing = np.zeros(0, np.int32)
        self._has_text = self._has_text or bool((lines.steps >> 1 == 0).any())
        asked = Asked(nothing, np.zeros(owner.size + 1, np.int64), np.full(owner.size, LEAF, np.int32), owner)
        return asked, (lines.pure | lines.exact).astype(np.bool_)

    def _often(self, asked: Asked) -> Floats:
        """There is one condition for each pattern."""
        return np.zeros(asked.owner.size)

    def _learn(self, asked: Asked) -> Ints:
        return asked.owner

    def _read(self, batch: EncodedBatch, symbols: Ints) -> Read:
        if self._blocks is None:
            self._values = ValueIndex()
            self._blocks = self._table.blocks(self.live, self._values, is_lazy=self.is_lazy)
            self._last_entry.resize(len(self._table), -1)
            keys = self._table.trie.substrings if self.is_lazy else len(self._table)
            self._last_meeting.resize(keys, -1)
        levels = Levels(
            rows=self._blocks.rows,
            masks=self._blocks.masks,
            last_entry=self._last_entry.view,
            last_meeting=self._last_meeting.view,
            stamps=self._met.room(len(self.store), batch.documents),
            is_lazy=self.is_lazy,
        )
        families = self._values.families(self.store.twigs.tests)
        read, self._probes = read_substrings(
            batch, symbols, Board(self._blocks, levels, families, self._met.last, self._has_text)
        )
        self._met.last += batch.documents
        return read

    def _size(self) -> dict[str, int]:
        return {
            "trie_nodes": len(self._table.trie),
            "substrings": self._table.trie.substrings,
            "rows": len(self._table),
            "probes": self._probes,
            "bytes": self._table.nbytes + self._values.nbytes + (self._blocks.nbytes if self._blocks else 0),
        }


class EagerXTrie(XTrie):
    """Every substring leads to the table, and every row knows at which levels it has a match."""

    is_lazy = False
