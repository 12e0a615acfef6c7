"""The run of XTrie over documents, eager and lazy (Chan, Felber, Garofalakis, Rastogi, ICDE 2002, §4.2)."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.engines.automata.reading import Read, chain_texts, extent_of, longer
from winnow.engines.predicates.families import Families, passing, raw_families
from winnow.engines.xtrie.levels import (
    COMPARED,
    FOUND,
    MEETING,
    MET_BEFORE,
    MET_KEY,
    MOVED,
    TASKS,
    Levels,
    Turn,
    completed,
    hangs_below,
    key_of,
    new_growing,
    noted_as,
    reaches_up,
)
from winnow.engines.xtrie.rows import BITS, INNER, LEAST, OWNER, PARENT, ROW, SPARE, TAIL
from winnow.engines.xtrie.settle import close_level, settle
from winnow.engines.xtrie.table import ITEM, ITEM_ABOVE, ITEM_BITS, ITEM_LEAST, ITEM_ROW, Blocks
from winnow.engines.xtrie.trie import ALPHA, NODE, SUFFIX, followed
from winnow.patterns.twigs import ANY_ATTRIBUTE

# A row whose tail is awaited, or -1, the level of its match, that of the tail's end, and the last one awaited there.
AWAITED_ROW, AWAITED_LEVEL, AWAITED_END, AWAITED_BEFORE, AWAITED = range(5)


class Board(NamedTuple):
    blocks: Blocks
    levels: Levels
    families: Families
    last_stamp: int
    has_text: bool


@kernel
def read_substrings(batch: EncodedBatch, symbols: Ints, board: Board) -> tuple[Read, int]:
    """The patterns whose rows each document completes, and how often a block of the table was looked up.

    Eager: every substring that ends at an element is looked up, and the meeting of each row is noted whose parent was
    met. Lazy: only rows without children are looked up; for the others the meetings of substrings are noted.
    """
    levels, is_lazy = board.levels, board.levels.is_lazy
    trie, rows = board.blocks.trie, raw(levels.rows)
    nodes, slots, last_slot = raw(trie.nodes), raw(trie.slots), trie.slots.size // 2 - 1
    offsets, items = raw(board.blocks.block.offsets), raw(board.blocks.block.items)
    place_of, is_inner = raw(board.blocks.place), raw(board.blocks.is_inner)
    last_meeting, stamps = raw(levels.last_meeting), raw(levels.stamps)
    families = raw_families(board.families)
    values, path, symbol_of = raw(batch.values), raw(batch.path), raw(symbols)
    highest, longest, most_texts = extent_of(batch, board.has_text)
    heads, following = np.empty(longest, np.int32), np.empty(most_texts, np.int32)
    growing = new_growing(highest + 1)
    counters = growing.counters
    # The trie's node at each open level, and what is noted there: the first `met_tops[k]` meetings are of levels above.
    state, met_tops = np.zeros(highest + 2, np.int64), np.zeros(highest + 2, np.int64)
    awaited_tops = np.zeros(highest + 2, np.int64)
    meetings, awaited = np.empty(MEETING * 64, np.int32), np.empty(AWAITED * 64, np.int32)
    awaited_at = np.full(highest + 2, -1, np.int32)
    met, waiting, probes, valued = 0, 0, 0, 0
    for document in range(batch.doc_offsets.size - 1):
        first, stop = batch.doc_offsets[document], batch.doc_offsets[document + 1]
        if first == stop:
            continue
        stamp = np.int32(board.last_stamp + 1 + document)
        if board.has_text:
            chain_texts(batch, document, heads, following)
        text_first = batch.text_offsets[document] if board.has_text else 0
        opened = -1
        node, text = first - 1, -1  # the document node first
        while node <= stop:
            is_end, is_text = node == stop and text < 0, text >= 0
            symbol, level = 0, 0
            if is_text:
                level = batch.level[node - 1] + 1
            elif first <= node < stop:
                symbol, level = symbol_of[path[node]], batch.level[node]
            turn = Turn(document, batch.text_parent[text] if is_text else max(node, first), stamp)
            while opened >= level:
                if growing.at_level[opened] >= 0:
                    growing = close_level(growing, levels, meetings, opened, turn)
                while met > met_tops[opened]:
                    met -= 1
                    last_meeting[meetings[MEETING * met + MET_KEY]] = meetings[MEETING * met + MET_BEFORE]
                while waiting > awaited_tops[opened]:
                    waiting -= 1
                    if awaited[AWAITED * waiting + AWAITED_ROW] >= 0:
                        end = awaited[AWAITED * waiting + AWAITED_END]
                        awaited_at[end] = awaited[AWAITED * waiting + AWAITED_BEFORE]
                opened -= 1
            if is_end:
                break
            opened = level  # that of an attribute or text is closed with the next turn
            met_tops[level], awaited_tops[level] = met, waiting
            if symbol > 0:
                k, awaited_at[level] = awaited_at[level], -1
                while k >= 0:
                    row = awaited[AWAITED * k + AWAITED_ROW]
                    awaited[AWAITED * k + AWAITED_ROW] = -1
                    if stamps[rows[ROW * row + OWNER]] != stamp:
                        growing = completed(growing, levels, row, int(awaited[AWAITED * k + AWAITED_LEVEL]), turn)
                    k = awaited[AWAITED * k + AWAITED_BEFORE]
            has_other = symbol < 0 or (symbol > 0 and trie.any_element > 0)  # attributes and elements meet `*`, too
            for walk in range(2 if has_other else 1):
                at = 0
                if walk == 0 and node >= first:
                    at = followed(nodes, slots, last_slot, state[level - 1], symbol)
                    if symbol > 0:
                        state[level] = at
                elif walk == 1:
                    at = trie.any_element
                    if symbol < 0:
                        at = followed(nodes, slots, last_slot, state[level - 1], ANY_ATTRIBUTE)
                if nodes[NODE * at + ALPHA] < 0:
                    at = nodes[NODE * at + SUFFIX]
                while at > 0 or node < first:
                    substring = nodes[NODE * at + ALPHA]
                    count = 0
                    if place_of[substring] >= 0:
                        valued += 1
                        if is_text:
                            span = (batch.text_start[text], batch.text_end[text])
                        else:
                            span = (batch.value_start[node], batch.value_end[node])
                        count = passing(families, place_of[substring], values, span, valued)
                    begin, size = offsets[substring], offsets[substring + 1] - offsets[substring]
                    probes += size > 0 or place_of[substring] >= 0
                    counters[COMPARED] += size + count
                    if MEETING * (met + size + 1) > meetings.size:  # a call for nothing would cost more than a row
                        meetings = longer(meetings, MEETING * met, MEETING * (met + size + 1))
                    noted = met
                    if is_lazy and is_inner[substring]:
                        met = noted_as(raw(meetings), last_meeting, met, substring, level)
                    for k in range(size + count):
                        if k < size:
                            item = ITEM * (begin + k)
                            row, bits = items[item + ITEM_ROW], items[item + ITEM_BITS]
                            above, least = items[item + ITEM_ABOVE], items[item + ITEM_LEAST]
                        else:
                            row = families.room[k - size]
                            bits = rows[ROW * row + BITS]
                            above, least = rows[ROW * row + PARENT], rows[ROW * row + LEAST]
                            if above >= 0:
                                above = key_of(rows, above, is_lazy)
                        if above < 0:
                            if level != least and (least > 0 or level < -least):
                                continue
                        elif is_lazy:
                            if last_meeting[above] < 0:
                                continue
                        elif not hangs_below(last_meeting, raw(meetings), above, least, level):
                            continue
                        if bits & INNER:
                            if bits & SPARE == 0 or last_meeting[row] < 0:
                                met = noted_as(raw(meetings), last_meeting, met, row, level)
                            continue
                        if stamps[rows[ROW * row + OWNER]] == stamp:
                            continue
                        if is_lazy:
                            fits, asked = reaches_up(rows, last_meeting, raw(meetings), row, level)
                            counters[COMPARED] += asked
                            if not fits:
                                continue
                        tail = rows[ROW * row + TAIL]
                        if tail == 0:
                            growing = completed(growing, levels, row, level, turn)
                        elif level + tail <= highest:
                            awaited = longer(awaited, AWAITED * waiting, AWAITED * (waiting + 1))
                            awaited[AWAITED * waiting + AWAITED_ROW] = row
                            awaited[AWAITED * waiting + AWAITED_LEVEL] = level
                            awaited[AWAITED * waiting + AWAITED_END] = level + tail
                            awaited[AWAITED * waiting + AWAITED_BEFORE] = awaited_at[level + tail]
                            awaited_at[level + tail] = waiting
                            waiting += 1
                    counters[MOVED] += met - noted
                    if at == 0:
                        break
                    at = nodes[NODE * at + SUFFIX]
            if counters[TASKS]:
                growing = settle(growing, levels, meetings, turn)
            if is_text:
                text = following[text - text_first]
            else:
                if board.has_text and node >= first:
                    text = heads[node - first]
                node += 1
    return Read(growing.found[: counters[FOUND]], counters[COMPARED], counters[MOVED]), probes
