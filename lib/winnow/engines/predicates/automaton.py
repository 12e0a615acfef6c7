"""From a value to the `contains` and `starts-with` tests it passes: an Aho-Corasick automaton and a prefix trie.

Both are tries over the tests' bytes (UTF-8 keeps substrings what they are), in flat arrays with an open hash table for
the edges. A value is read once, however many tests there are; for a handful of tests trying them is cheaper (`FEW`).
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Bytes, Ints, Longs
from winnow.patterns.twigs import Tests
from winnow.patterns.value_tests import CONTAINS, STARTS_WITH

FEW = 8


class Trie(NamedTuple):
    """State 0 is the root; state s > 0 ends the edge whose key is `parent * 256 + byte`."""

    keys: Longs  # open hash table of edges, -1 where free
    targets: Ints
    needle: Ints  # per state: the needle that ends here, or -1
    fail: Ints  # per state: the longest proper suffix that is a state
    outer: Ints  # per state: the next state on the way of `fail` where a needle ends, or 0
    tests: Ints  # per needle: its test


class Automata(NamedTuple):
    contains: Trie
    prefixes: Trie


class _Draft(NamedTuple):
    keys: Longs
    targets: Ints
    needle: Ints
    parent: Longs  # per state: the key of its edge
    depth: Ints


class Scratch(NamedTuple):
    """Room for one search, kept from value to value."""

    seen: Longs  # per needle of `contains`: the number of the last value that has it
    hits: Ints  # tests that the value passes


def new_scratch(automata: Automata) -> Scratch:
    needles = automata.contains.tests.size
    return Scratch(np.zeros(needles, np.int64), np.empty(needles + automata.prefixes.tests.size, np.int32))


def build_automata(tests: Tests, waited: Ints) -> Automata:
    """`waited` are the distinct tests that patterns wait for."""
    ops = tests.op[waited]
    return Automata(_build(tests, waited[ops == CONTAINS]), _build(tests, waited[ops == STARTS_WITH]))


def _build(tests: Tests, wanted: Ints) -> Trie:
    lengths = tests.end[wanted] - tests.start[wanted]
    states = int(lengths.sum()) + 1
    slots = 1 << (2 * states).bit_length()
    draft = _Draft(
        np.full(slots, -1, np.int64),
        np.zeros(slots, np.int32),
        np.full(states, -1, np.int32),
        np.zeros(states, np.int64),
        np.zeros(states, np.int32),
    )
    used = _insert(tests, wanted, draft)
    order = np.argsort(draft.depth[:used], kind="stable")
    fail, outer = _link(draft, order)
    return Trie(draft.keys, draft.targets, draft.needle[:used].copy(), fail, outer, wanted.astype(np.int32))


@inlined
def _slot(keys: Longs, mask: int, key: int) -> int:
    """Where the edge is, or would be."""
    slot = (key * 0x9E3779B1 >> 7) & mask
    while keys[slot] != key and keys[slot] >= 0:
        slot = (slot + 1) & mask
    return slot


@kernel
def _insert(tests: Tests, wanted: Ints, draft: _Draft) -> int:
    used = 1
    mask = draft.keys.size - 1
    for k in range(wanted.size):
        state = 0
        for i in range(tests.start[wanted[k]], tests.end[wanted[k]]):
            key = state * 256 + int(tests.text[i])
            slot = _slot(draft.keys, mask, key)
            if draft.keys[slot] < 0:
                draft.keys[slot] = key
                draft.targets[slot] = used
                draft.parent[used] = key
                draft.depth[used] = draft.depth[state] + 1
                used += 1
            state = int(draft.targets[slot])
        draft.needle[state] = k
    return used


@kernel
def _link(draft: _Draft, order: Longs) -> tuple[Ints, Ints]:
    """Aho and Corasick's failure links, shallow states first, so that those they build on are there."""
    fail, outer = np.zeros(order.size, np.int32), np.zeros(order.size, np.int32)
    mask = draft.keys.size - 1
    for k in range(1, order.size):
        state = order[k]
        above, byte = int(draft.parent[state]) >> 8, int(draft.parent[state]) & 255
        target = 0
        while above:
            above = int(fail[above])
            slot = _slot(draft.keys, mask, above * 256 + byte)
            if draft.keys[slot] >= 0:
                target = int(draft.targets[slot])
                break
        fail[state] = target
        outer[state] = target if draft.needle[target] >= 0 else outer[target]
    return fail, outer


@kernel
def find_tests(automata: Automata, values: Bytes, span: tuple[int, int], scratch: Scratch, value: int) -> int:
    """How many tests the value passes; they go to `scratch.hits`, each once. `value` numbers the values."""
    count = _substrings(automata.contains, values, span, scratch, value)
    trie = automata.prefixes
    mask = trie.keys.size - 1
    state = 0
    for i in range(span[0], span[1]):
        slot = _slot(trie.keys, mask, state * 256 + int(values[i]))
        if trie.keys[slot] < 0:
            break
        state = int(trie.targets[slot])
        if trie.needle[state] >= 0:
            scratch.hits[count] = trie.tests[trie.needle[state]]
            count += 1
    return count


@kernel
def _substrings(trie: Trie, values: Bytes, span: tuple[int, int], scratch: Scratch, value: int) -> int:
    count, state = 0, 0
    mask = trie.keys.size - 1
    for i in range(span[0], span[1]):
        byte = int(values[i])
        slot = _slot(trie.keys, mask, state * 256 + byte)
        while trie.keys[slot] < 0 and state:
            state = int(trie.fail[state])
            slot = _slot(trie.keys, mask, state * 256 + byte)
        if trie.keys[slot] >= 0:
            state = int(trie.targets[slot])
        found = state if trie.needle[state] >= 0 else int(trie.outer[state])
        # Where a needle was seen before, all shorter ones on its way were seen with it.
        while found and scratch.seen[trie.needle[found]] != value:
            scratch.seen[trie.needle[found]] = value
            scratch.hits[count] = trie.tests[trie.needle[found]]
            count += 1
            found = int(trie.outer[found])
    return count
