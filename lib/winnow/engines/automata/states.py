"""The states of a shared automaton: a trie over the steps of lines, grown by insertion, in flat arrays.

As in YFilter (Miliaraki and Koubarakis, DEBS 2010, §3.2): a step is a transition on a label or on `*`; the step `//`
is an ε-transition to a state with a self-loop. Every state has one way in, besides its loop, so two lines share exactly
the states of what they begin with. Transitions on labels are in one open hash table; a mask per state says which are
worth looking up. State 0 is the start.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints, Longs
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT

# A record per state, 32 bytes in one piece. The first eight are the mask. Then come the target on `*`, the target of ε,
# the condition that is met in this state, the one that is met when the state is reached at a root element, and the
# place of its values; -1 where there is none.
STAR, DEEP, ACCEPT, ROOT, PLACE = range(2, 7)
RECORD, WORDS = 8, 4

# The mask: bits for labels, and these.
LOOP, SOME_ATTRIBUTE, SOME_ELEMENT = 1 << 60, 1 << 61, 1 << 62
_LABEL_BITS = 60

TEST = 2**30  # transitions on `TEST + test`, beyond all symbols: a test is passed
STATES, TRANSITIONS, PLACES, LOOPS, CONDITIONS, SIZES = range(6)


class States(NamedTuple):
    """For kernels: arrays with room, and what of them is in use. `masks` and `records` are the same memory."""

    masks: Longs  # that of a state is at WORDS * state
    records: Ints  # those of a state begin at RECORD * state
    slots: Longs  # pairs (key, target), 2**k of them, at most half full; key -1 where free
    sizes: Longs


class StateTable:
    """The growing owner of `States`."""

    def __init__(self) -> None:
        self._words = Column(np.int64)
        self._slots: Longs = np.full(2048, -1, np.int64)
        self.sizes: Longs = np.zeros(SIZES, np.int64)
        self.sizes[STATES] = 1
        self._words.resize(WORDS, -1)
        self._words.view[0] = 0

    @property
    def nbytes(self) -> int:
        return int(self._words.view.nbytes + self._slots.nbytes)

    @property
    def states(self) -> States:
        words = self._words.view
        return States(words, words.view(np.int32), self._slots, self.sizes)

    def size(self) -> dict[str, int]:
        states, transitions, loops = (int(self.sizes[size]) for size in (STATES, TRANSITIONS, LOOPS))
        return {"states": states, "loops": loops, "transitions": transitions}

    def reserve(self, steps: int, rows: int) -> States:
        """Room for lines with so many steps in all; `taken` tells what was used of it."""
        states = int(self.sizes[STATES]) + 2 * steps + rows
        transitions = int(self.sizes[TRANSITIONS]) + steps + rows
        if 4 * transitions > self._slots.size:
            grown = np.full(2 << (2 * transitions).bit_length(), -1, np.int64)
            rehash_slots(self._slots, grown)
            self._slots = grown
        words = self._words.reserve(WORDS * states)
        return States(words, words.view(np.int32), self._slots, self.sizes)

    def taken(self) -> None:
        self._words.take(WORDS * int(self.sizes[STATES]))


@inlined
def label_bit(symbol: int) -> int:
    """The bit of a label, of text, or of a wildcard in the masks of states."""
    return 1 << (((symbol * 0x9E3779B1) >> 8) % _LABEL_BITS)


@inlined
def wild_bit(symbol: int) -> int:
    """The bit of the wildcard that a document node with this symbol meets; text nodes meet none."""
    return SOME_ELEMENT if symbol > 0 else SOME_ATTRIBUTE if symbol < 0 else 0


@inlined
def slot_of(slots: Longs, last: int, state: int, symbol: int) -> int:
    """Where the transition is, or would be. `last` is the number of slots less one."""
    key = (state << 32) | (symbol & 0xFFFFFFFF)
    slot = (key * -7046029254386353131 >> 32) & last
    while slots[2 * slot] != key and slots[2 * slot] >= 0:
        slot = (slot + 1) & last
    return 2 * slot


@inlined
def target_of(slots: Longs, last: int, state: int, symbol: int) -> int:
    """The target of the transition, or -1."""
    slot = slot_of(slots, last, state, symbol)
    return slots[slot + 1] if slots[slot] >= 0 else -1


@inlined
def wild_target(records: Ints, slots: Longs, last: int, state: int, symbol: int) -> int:
    """Where the wildcard leads on a document node with this symbol."""
    return int(records[RECORD * state + STAR]) if symbol > 0 else target_of(slots, last, state, ANY_ATTRIBUTE)


@inlined
def _new_state(states: States) -> int:
    state = states.sizes[STATES]
    states.sizes[STATES] = state + 1
    states.masks[WORDS * state] = 0
    for k in range(1, WORDS):
        states.masks[WORDS * state + k] = -1
    return int(state)


@inlined
def number_in(states: States, state: int, field: int, size: int) -> int:
    """The number in a field of the record, a new one of those that `sizes[size]` counts if there is none."""
    if states.records[RECORD * state + field] < 0:
        states.records[RECORD * state + field] = states.sizes[size]
        states.sizes[size] += 1
    return int(states.records[RECORD * state + field])


@inlined
def moved(states: States, state: int, symbol: int) -> int:
    """The state after `symbol`, which may be a wildcard or a test."""
    if symbol == ANY_ELEMENT:
        if states.records[RECORD * state + STAR] < 0:
            states.records[RECORD * state + STAR] = _new_state(states)
            states.masks[WORDS * state] |= SOME_ELEMENT
            states.sizes[TRANSITIONS] += 1
        return int(states.records[RECORD * state + STAR])
    slot = slot_of(states.slots, states.slots.size // 2 - 1, state, symbol)
    if states.slots[slot] < 0:
        states.slots[slot] = (state << 32) | (symbol & 0xFFFFFFFF)
        states.slots[slot + 1] = _new_state(states)
        states.sizes[TRANSITIONS] += 1
        if symbol == ANY_ATTRIBUTE:
            states.masks[WORDS * state] |= SOME_ATTRIBUTE
        elif symbol < TEST:
            states.masks[WORDS * state] |= label_bit(symbol)
    return int(states.slots[slot + 1])


@inlined
def deepened(states: States, state: int) -> int:
    """The state with the self-loop that ε leads to."""
    if states.records[RECORD * state + DEEP] < 0:
        loop = _new_state(states)
        states.masks[WORDS * loop] = LOOP
        states.records[RECORD * state + DEEP] = loop
        states.sizes[LOOPS] += 1
        states.sizes[TRANSITIONS] += 1
    return int(states.records[RECORD * state + DEEP])


@kernel
def rehash_slots(old: Longs, new: Longs) -> None:
    last = new.size // 2 - 1
    for slot in range(0, old.size, 2):
        if old[slot] >= 0:
            at = slot_of(new, last, old[slot] >> 32, int(old[slot] & 0xFFFFFFFF))
            new[at] = old[slot]
            new[at + 1] = old[slot + 1]
