"""The run of the bottom-up automaton over documents (BUFF, Algorithm 2)."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.engines.automata.reading import Read, chain_texts, extent_of, longer, more_rows
from winnow.engines.automata.states import (
    ACCEPT,
    DEEP,
    LOOP,
    PLACE,
    RECORD,
    ROOT,
    WORDS,
    States,
    label_bit,
    target_of,
    wild_bit,
    wild_target,
)
from winnow.engines.predicates.families import Families, passing, raw_families

_CROWDED = 4096  # items of a list; shorter ones wait for the end of their element


class Machine(NamedTuple):
    states: States
    families: Families
    seen: Ints  # two per state: the last turn in whose list it was found, and where in the list
    last_turn: int
    stamps: Ints  # two per condition: the stamp of the last document that met it, and the row that says so
    last_stamp: int
    has_text: bool


@kernel
def _distinct(lists: tuple[Longs, Longs, Longs], begin: int, stop: int, seen: Ints, turn: int) -> int:
    """Leave of equal states one, with the earliest node, in `begin:stop` of the lists; the new end."""
    listed, listed_masks, listed_nodes = lists
    kept = begin
    for i in range(begin, stop):
        entry = 2 * listed[i]
        if seen[entry] == turn:
            at = seen[entry + 1]
            listed_nodes[at] = min(listed_nodes[at], listed_nodes[i])
            continue
        seen[entry] = turn
        seen[entry + 1] = kept
        listed[kept] = listed[i]
        listed_masks[kept] = listed_masks[i]
        listed_nodes[kept] = listed_nodes[i]
        kept += 1
    return kept


@kernel
def read_upwards(batch: EncodedBatch, symbols: Ints, machine: Machine) -> Read:
    """The conditions that each document meets.

    `RS` of the paper is `opened`, and the lists of its elements lie one after the other: that of the element at level k
    begins at `bases[k]`. A list is made of triples (state, mask, node), the node being the earliest at which a way to
    the state began; the initial state, which every list has, is not written down. What siblings add overlaps, so a list
    is freed of duplicates when its element ends, and before that whenever it has doubled.
    """
    masks, records, slots = raw(machine.states.masks), raw(machine.states.records), raw(machine.states.slots)
    last_slot = machine.states.slots.size // 2 - 1
    families = raw_families(machine.families)
    stamps = raw(machine.stamps)
    values, path, symbol_of = raw(batch.values), raw(batch.path), raw(symbols)
    levels, longest, most_texts = extent_of(batch, machine.has_text)
    heads, following = np.empty(longest, np.int32), np.empty(most_texts, np.int32)
    opened, bases, limits = (
        np.zeros(levels + 1, np.int64),
        np.zeros(levels + 1, np.int64),
        np.zeros(levels + 1, np.int64),
    )
    listed, listed_masks, listed_nodes = np.zeros(1024, np.int64), np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    met = np.empty((1024, 3), np.int32)
    used, compared, entered, valued, turns = 0, 0, 0, 0, machine.last_turn
    for document in range(batch.doc_offsets.size - 1):
        stamp = np.int32(machine.last_stamp + 1 + document)
        first, last = batch.doc_offsets[document], batch.doc_offsets[document + 1]
        if machine.has_text:
            chain_texts(batch, document, heads, following)
        text_first = batch.text_offsets[document] if machine.has_text else 0
        node, text = first, -1
        depth, stop = 0, 0  # `stop` is the end of the last list
        while node < last or depth > 0 or text >= 0:
            # Whose turn is it: a text node, an element that ends, an attribute? An element that begins has none.
            begin = stop
            if text >= 0:
                item, symbol = batch.text_parent[text], 0
                start, end = 0, 0
                if batch.with_values:
                    start, end = batch.text_start[text], batch.text_end[text]
                text = following[text - text_first]
            else:
                if depth > 0 and (node == last or batch.level[node] <= depth):
                    item, begin = opened[depth], bases[depth]
                    depth -= 1
                else:
                    item = node
                    node += 1
                    if symbol_of[path[item]] > 0:
                        depth += 1
                        opened[depth] = item
                        bases[depth] = stop
                        limits[depth] = _CROWDED
                        if machine.has_text:
                            text = heads[item - first]
                        continue
                symbol = symbol_of[path[item]]
                start, end = 0, 0
                if batch.with_values:
                    start, end = batch.value_start[item], batch.value_end[item]
            turns += 1
            kept = begin
            if begin < stop:
                kept = _distinct((listed, listed_masks, listed_nodes), begin, stop, machine.seen, turns)
            is_root = symbol > 0 and depth == 0
            top = kept
            bit, wild = label_bit(symbol), wild_bit(symbol)
            compared += kept - begin + 1
            for i in range(begin - 1, kept):  # the initial state first
                state, mask, leaf = (0, masks[0], item) if i < begin else (listed[i], listed_masks[i], listed_nodes[i])
                if top + 8 > listed.size:
                    room = 2 * (top + 8)
                    listed, listed_masks = longer(listed, top, room), longer(listed_masks, top, room)
                    listed_nodes = longer(listed_nodes, top, room)
                if mask & LOOP:
                    listed[top] = state
                    listed_masks[top] = mask
                    listed_nodes[top] = leaf
                    top += 1
                for turn in range(2):
                    target = -1
                    if turn == 0 and mask & bit:
                        target = target_of(slots, last_slot, state, symbol)
                    elif turn == 1 and mask & wild:
                        target = wild_target(records, slots, last_slot, state, symbol)
                    if target < 0:
                        continue
                    count = 0
                    if records[RECORD * target + PLACE] >= 0:
                        valued += 1
                        count = passing(families, records[RECORD * target + PLACE], values, (start, end), valued)
                        if top + 2 * count + 8 > listed.size:
                            room = 2 * (top + 2 * count + 8)
                            listed, listed_masks = longer(listed, top, room), longer(listed_masks, top, room)
                            listed_nodes = longer(listed_nodes, top, room)
                    for k in range(-1, count):
                        reached = target if k < 0 else families.room[k]
                        record = RECORD * reached
                        entered += 1
                        if masks[WORDS * reached]:
                            listed[top] = reached
                            listed_masks[top] = masks[WORDS * reached]
                            listed_nodes[top] = leaf
                            top += 1
                        if records[record + DEEP] >= 0:
                            listed[top] = records[record + DEEP]
                            listed_masks[top] = masks[WORDS * records[record + DEEP]]
                            listed_nodes[top] = leaf
                            top += 1
                        for final in range(2):
                            condition = records[record + ACCEPT] if final == 0 else records[record + ROOT]
                            if condition < 0 or (final == 1 and not is_root):
                                continue
                            if stamps[2 * condition] == stamp:
                                row = stamps[2 * condition + 1]
                                met[row, 2] = min(met[row, 2], leaf)
                                continue
                            stamps[2 * condition] = stamp
                            stamps[2 * condition + 1] = used
                            met = more_rows(met, used)
                            met[used, 0] = document
                            met[used, 1] = condition
                            met[used, 2] = leaf
                            used += 1
            # The states that were entered go to the list of the parent, which ends where this one begins.
            for i in range(kept, top):
                listed[begin + i - kept] = listed[i]
                listed_masks[begin + i - kept] = listed_masks[i]
                listed_nodes[begin + i - kept] = listed_nodes[i]
            stop = begin + top - kept
            if is_root:
                stop = 0
            elif stop - bases[depth] > limits[depth]:
                turns += 1
                stop = _distinct((listed, listed_masks, listed_nodes), bases[depth], stop, machine.seen, turns)
                limits[depth] = max(_CROWDED, 2 * (stop - bases[depth]))
    return Read(met[:used], compared, entered)
