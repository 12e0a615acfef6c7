"""The run of the top-down automaton over documents, with YFilter's stack of active states (DEBS 2010, §3.3)."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Bytes, Ints
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.engines.automata.reading import Read, chain_texts, extent_of, longer, more_rows
from winnow.engines.automata.states import (
    ACCEPT,
    DEEP,
    LOOPS,
    PLACE,
    RECORD,
    WORDS,
    States,
    label_bit,
    target_of,
    wild_bit,
    wild_target,
)
from winnow.engines.predicates.families import Families, passing, raw_families


class Machine(NamedTuple):
    states: States
    families: Families
    is_open: Bytes  # per state: it has a loop and is on the stack; all 0 between calls
    stamps: Ints  # per condition: the stamp of the last document that met it
    last_stamp: int
    has_text: bool


@kernel
def read_downwards(batch: EncodedBatch, symbols: Ints, machine: Machine) -> Read:
    """The conditions that each document meets.

    Active states are pairs (state, mask), in two stacks. `near` has, level by level, those that an element entered and
    that its children ask. `deep` has the states with a loop, once each, as long as an element that entered one is open:
    all elements below ask them, so they need not be copied from level to level.
    """
    masks, records, slots = raw(machine.states.masks), raw(machine.states.records), raw(machine.states.slots)
    last_slot = machine.states.slots.size // 2 - 1
    families = raw_families(machine.families)
    is_open, stamps = raw(machine.is_open), raw(machine.stamps)
    values, path, symbol_of = raw(batch.values), raw(batch.path), raw(symbols)
    levels, longest, most_texts = extent_of(batch, machine.has_text)
    heads, following = np.empty(longest, np.int32), np.empty(most_texts, np.int32)
    near, near_masks = np.zeros(1024, np.int64), np.zeros(1024, np.int64)
    deep = np.zeros(machine.states.sizes[LOOPS] + 1, np.int64)
    deep_masks = np.zeros(machine.states.sizes[LOOPS] + 1, np.int64)
    # The states that elements at level k entered are `near[tops[k]:tops[k + 1]]`; `deep[:deep_tops[k + 1]]` are open.
    tops, deep_tops = np.zeros(levels + 2, np.int64), np.zeros(levels + 2, np.int64)
    near_masks[0] = masks[0]
    tops[1] = 1
    if records[DEEP] >= 0:
        deep[0] = records[DEEP]
        deep_masks[0] = masks[WORDS * deep[0]]
        is_open[deep[0]] = 1
        deep_tops[1] = 1
    deep_used = deep_tops[1]
    met = np.empty((1024, 3), np.int32)
    used, compared, entered, valued = 0, 0, 0, 0
    for document in range(batch.doc_offsets.size - 1):
        stamp = np.int32(machine.last_stamp + 1 + document)
        first = batch.doc_offsets[document]
        if machine.has_text:
            chain_texts(batch, document, heads, following)
        text_first = batch.text_offsets[document] if machine.has_text else 0
        node, text = first, -1
        while node < batch.doc_offsets[document + 1] or text >= 0:
            is_text = text >= 0  # else the turn is that of `node`
            symbol = 0 if is_text else symbol_of[path[node]]
            level = batch.level[node - 1] + 1 if is_text else batch.level[node]
            top = tops[level]
            while deep_used > deep_tops[level]:
                deep_used -= 1
                is_open[deep[deep_used]] = 0
            deep_stop = deep_used
            near_start = tops[level - 1]
            if top + 2 * (top - near_start + deep_stop) > near.size:
                room = 2 * (top + 2 * (top - near_start + deep_stop))
                near, near_masks = longer(near, top, room), longer(near_masks, top, room)
            bit, wild = label_bit(symbol), wild_bit(symbol)
            compared += top - near_start + deep_stop
            for part in range(2):
                asked, asked_masks = (raw(near), raw(near_masks)) if part == 0 else (raw(deep), raw(deep_masks))
                for i in range(near_start if part == 0 else 0, tops[level] if part == 0 else deep_stop):
                    mask = asked_masks[i] & (bit | wild)
                    if mask == 0:
                        continue
                    for turn in range(2):
                        target = -1
                        if turn == 0 and mask & bit:
                            target = target_of(slots, last_slot, asked[i], symbol)
                        elif turn == 1 and mask & wild:
                            target = wild_target(records, slots, last_slot, asked[i], symbol)
                        if target < 0:
                            continue
                        entered += 1
                        record = RECORD * target
                        if symbol > 0:
                            if masks[WORDS * target]:
                                near[top] = target
                                near_masks[top] = masks[WORDS * target]
                                top += 1
                            loop = records[record + DEEP]
                            if loop >= 0 and not is_open[loop]:
                                is_open[loop] = 1
                                deep[deep_used] = loop
                                deep_masks[deep_used] = masks[WORDS * loop]
                                deep_used += 1
                        count = 0
                        if records[record + PLACE] >= 0:
                            valued += 1
                            if is_text:
                                start, end = batch.text_start[text], batch.text_end[text]
                            else:
                                start, end = batch.value_start[node], batch.value_end[node]
                            count = passing(families, records[record + PLACE], values, (start, end), valued)
                        for k in range(-1, count):
                            condition = records[record + ACCEPT] if k < 0 else families.room[k]
                            if condition < 0 or stamps[condition] == stamp:
                                continue
                            stamps[condition] = stamp
                            met = more_rows(met, used)
                            met[used, 0] = document
                            met[used, 1] = condition
                            met[used, 2] = batch.text_parent[text] if is_text else node
                            used += 1
            if symbol > 0:
                tops[level + 1] = top
                deep_tops[level + 1] = deep_used
            if is_text:
                text = following[text - text_first]
            else:
                if machine.has_text:
                    text = heads[node - first]
                node += 1
    while deep_used > 0:
        deep_used -= 1
        is_open[deep[deep_used]] = 0
    return Read(met[:used], compared, entered)
