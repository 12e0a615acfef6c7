"""BUFF, the bottom-up automaton (Moro, Bakalov, Tsotras, VLDB 2007, §3): lines that end alike share states.

Lines are inserted from the lower end up. The test at the end of a line is asked there and then, before anything above
it: "the NFA only advances to the next state when the value constraint is also satisfied". A line that begins at the
root has the further constraint, in its final state, that the element is the root.
"""

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.stamped import Stamped
from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.engines.automata.buff_read import Machine, read_upwards
from winnow.engines.automata.conditions import Asked
from winnow.engines.automata.filtering import FilteringEngine
from winnow.engines.automata.reading import Read
from winnow.engines.automata.states import (
    ACCEPT,
    CONDITIONS,
    PLACE,
    PLACES,
    ROOT,
    STATES,
    TEST,
    States,
    StateTable,
    deepened,
    moved,
    number_in,
)
from winnow.engines.automata.strategies import STEP_BY_STEP
from winnow.engines.predicates.families import ValueIndex
from winnow.patterns.lines import LEAF


class Buff(FilteringEngine):
    def __init__(self, vocabulary: Vocabulary, paths: PathTable, strategy: str = STEP_BY_STEP) -> None:
        super().__init__(vocabulary, paths, strategy)
        self._table, self._values = StateTable(), ValueIndex()
        self._seen, self._met = Stamped(width=2), Stamped(width=2)

    def _learn(self, asked: Asked) -> Ints:
        states = self._table.reserve(asked.steps.size, asked.test.size)
        conditions, place, entry = learn_upwards(states, asked)
        self._table.taken()
        new = np.flatnonzero(place >= 0)
        self._values.add(place[new], asked.test[new], entry[new])
        return conditions

    def _read(self, batch: EncodedBatch, symbols: Ints) -> Read:
        states = self._table.states
        turns = 2 * (batch.nodes + batch.text_parent.size)
        machine = Machine(
            states=states,
            families=self._values.families(self.store.twigs.tests),
            seen=self._seen.room(int(states.sizes[STATES]), turns),
            last_turn=self._seen.last,
            stamps=self._met.room(int(states.sizes[CONDITIONS]), batch.documents),
            last_stamp=self._met.last,
            has_text=self._has_text,
        )
        read = read_upwards(batch, symbols, machine)
        self._seen.last += turns
        self._met.last += batch.documents
        return read

    def _size(self) -> dict[str, int]:
        return self._table.size() | {"bytes": self._table.nbytes + self._values.nbytes}


@kernel
def learn_upwards(states: States, asked: Asked) -> tuple[Ints, Ints, Ints]:
    """Per row its condition, and, when its test is new in the state of its end, the place there and the state after."""
    rows = asked.test.size
    conditions, entry, place = np.empty(rows, np.int32), np.empty(rows, np.int32), np.full(rows, -1, np.int32)
    for k in range(rows):
        start, end = asked.ends[k], asked.ends[k + 1]
        state = moved(states, 0, asked.steps[start] >> 1)
        if asked.test[k] != LEAF:
            known = states.sizes[STATES]
            entry[k] = moved(states, state, TEST + asked.test[k])
            if states.sizes[STATES] > known:
                place[k] = number_in(states, state, PLACE, PLACES)
            state = int(entry[k])
        for i in range(start + 1, end):
            if asked.steps[i - 1] & 1:
                state = deepened(states, state)
            state = moved(states, state, asked.steps[i] >> 1)
        conditions[k] = number_in(states, state, ACCEPT if asked.steps[end - 1] & 1 else ROOT, CONDITIONS)
    return conditions, place, entry
