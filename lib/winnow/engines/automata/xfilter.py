"""XFilter with list balance: a machine for every line of every pattern, and a list of machines for every label.

Altinel and Franklin; the baseline that XTrie is measured against (Chan, Felber, Garofalakis, Rastogi, ICDE 2002,
Figure 7). Nothing is shared: a condition belongs to one pattern, and a test is asked for each machine that comes to its
end.
"""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.stamped import Stamped
from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.engines.automata.conditions import Asked
from winnow.engines.automata.filtering import FilteringEngine
from winnow.engines.automata.reading import Read
from winnow.engines.automata.strategies import STEP_BY_STEP
from winnow.engines.automata.xfilter_machines import Machines, MachineTable
from winnow.engines.automata.xfilter_read import Board, read_machines


class XFilter(FilteringEngine):
    def __init__(self, vocabulary: Vocabulary, paths: PathTable, strategy: str = STEP_BY_STEP) -> None:
        super().__init__(vocabulary, paths, strategy)
        self._table = MachineTable()
        self._machines: Machines | None = None
        self._is_deep, self._passed, self._met = Column(np.uint8), Stamped(), Stamped()

    def _changed(self) -> None:
        super()._changed()
        self._machines = None

    def _learn(self, asked: Asked) -> Ints:
        return self._table.add(asked, len(self.store.vocabulary))

    def _read(self, batch: EncodedBatch, symbols: Ints) -> Read:
        if self._machines is None:
            self._machines = self._table.live(self.live)
        turns = batch.nodes + batch.text_parent.size
        self._is_deep.resize(self._table.path_nodes, 0)
        board = Board(
            machines=self._machines,
            tests=self.store.twigs.tests,
            heads=np.full(self._machines.waiting.offsets.size - 1, -1, np.int32),
            is_deep=self._is_deep.view,
            passed=self._passed.room(self._table.path_nodes, turns),
            last_turn=self._passed.last,
            stamps=self._met.room(len(self._table), batch.documents),
            last_stamp=self._met.last,
            has_text=self._has_text,
        )
        read = read_machines(batch, symbols, board)
        self._passed.last += turns
        self._met.last += batch.documents
        return read

    def _size(self) -> dict[str, int]:
        return {"machines": len(self._table), "states": self._table.path_nodes, "bytes": self._table.nbytes}
