"""YFilter's automaton: one, top-down, for all lines (Diao et al.; Miliaraki and Koubarakis, DEBS 2010, §3).

Lines that begin alike share states. A test on a value is asked in the accepting state of the line to it, with an index
of its own there; other ways to combine structure and values are in `strategies`.
"""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.stamped import Stamped
from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.engines.automata.conditions import Asked
from winnow.engines.automata.filtering import FilteringEngine
from winnow.engines.automata.nfa_read import Machine, read_downwards
from winnow.engines.automata.reading import Read
from winnow.engines.automata.states import (
    ACCEPT,
    CONDITIONS,
    PLACE,
    PLACES,
    STATES,
    TEST,
    TRANSITIONS,
    States,
    StateTable,
    deepened,
    moved,
    number_in,
    slot_of,
)
from winnow.engines.automata.strategies import STEP_BY_STEP
from winnow.engines.predicates.families import ValueIndex
from winnow.patterns.lines import LEAF


class Nfa(FilteringEngine):
    def __init__(self, vocabulary: Vocabulary, paths: PathTable, strategy: str = STEP_BY_STEP) -> None:
        super().__init__(vocabulary, paths, strategy)
        self._table, self._values = StateTable(), ValueIndex()
        self._is_open, self._met = Column(np.uint8), Stamped()

    def _learn(self, asked: Asked) -> Ints:
        states = self._table.reserve(asked.steps.size, asked.test.size)
        conditions, place = learn_downwards(states, asked)
        self._table.taken()
        new = np.flatnonzero(place >= 0)
        self._values.add(place[new], asked.test[new], conditions[new])
        return conditions

    def _read(self, batch: EncodedBatch, symbols: Ints) -> Read:
        states = self._table.states
        self._is_open.resize(int(states.sizes[STATES]), 0)
        machine = Machine(
            states=states,
            families=self._values.families(self.store.twigs.tests),
            is_open=self._is_open.view,
            stamps=self._met.room(int(states.sizes[CONDITIONS]), batch.documents),
            last_stamp=self._met.last,
            has_text=self._has_text,
        )
        read = read_downwards(batch, symbols, machine)
        self._met.last += batch.documents
        return read

    def _size(self) -> dict[str, int]:
        return self._table.size() | {"bytes": self._table.nbytes + self._values.nbytes}


@kernel
def learn_downwards(states: States, asked: Asked) -> tuple[Ints, Ints]:
    """Per row its condition, and, when the condition is new and has a test, the place of its values; else -1."""
    rows = asked.test.size
    conditions, place = np.empty(rows, np.int32), np.full(rows, -1, np.int32)
    last = states.slots.size // 2 - 1
    for k in range(rows):
        state = 0
        for i in range(asked.ends[k + 1] - 1, asked.ends[k] - 1, -1):
            step = asked.steps[i]
            if step & 1:
                state = deepened(states, state)
            state = moved(states, state, step >> 1)
        if asked.test[k] == LEAF:
            conditions[k] = number_in(states, state, ACCEPT, CONDITIONS)
            continue
        slot = slot_of(states.slots, last, state, TEST + asked.test[k])
        if states.slots[slot] < 0:
            states.slots[slot] = (state << 32) | (TEST + asked.test[k])
            states.slots[slot + 1] = states.sizes[CONDITIONS]
            states.sizes[CONDITIONS] += 1
            states.sizes[TRANSITIONS] += 1
            place[k] = number_in(states, state, PLACE, PLACES)
        conditions[k] = states.slots[slot + 1]
    return conditions, place
