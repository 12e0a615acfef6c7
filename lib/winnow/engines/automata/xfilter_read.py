"""The run of XFilter's machines over documents: lists of waiting path nodes, by label."""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Bytes, Ints
from winnow.encoding import EncodedBatch
from winnow.encoding.simd import raw
from winnow.engines.automata.reading import Read, chain_texts, extent_of, longer, more_rows
from winnow.engines.automata.xfilter_machines import (
    ANY_ATTRIBUTE_KEY,
    ANY_ELEMENT_KEY,
    BEGIN,
    DISTANCE,
    END,
    FINAL,
    KEY,
    MACHINE,
    PATH_NODE,
    PIVOT,
    Machines,
    key_of,
)
from winnow.engines.predicates.families import raw_tests
from winnow.patterns.lines import LEAF
from winnow.patterns.twigs import Tests, label_fits
from winnow.patterns.value_tests import holds


class Board(NamedTuple):
    """The machines, and room for what moves."""

    machines: Machines
    tests: Tests
    heads: Ints  # per key: the last promoted path node that waits for it, or -1
    is_deep: Bytes  # per path node: it waits, promoted, at any level from some level on; all 0 between calls
    passed: Ints  # per path node: the last turn in which it was entered
    last_turn: int
    stamps: Ints  # per machine: the stamp of the last document that met it
    last_stamp: int
    has_text: bool


@inlined
def _fits_above(steps: Ints, first: int, last: int, above: int, view: tuple[Ints, Ints, Ints]) -> bool:
    """The nodes from `above` up fit the steps `first:last`, of which the last one is that of a node below `above`.

    Each step as low as possible; when that fails, the last gap (`//`) is tried one ancestor higher.
    """
    path, parent, symbol_of = view
    step = last - 1
    gap, gap_above = -1, -1
    if steps[step] & 1:
        gap, gap_above = step, above
    while True:
        if step == first:
            if steps[first] & 1 or above < 0:
                return True
        elif above >= 0 and label_fits(steps[step - 1] >> 1, symbol_of[path[above]]):
            step -= 1
            above = parent[above]
            if steps[step] & 1:
                gap, gap_above = step, above
            continue
        if gap_above < 0:
            return False
        gap_above = parent[gap_above]
        step, above = gap, gap_above
        if above < 0:
            return False


@kernel
def read_machines(batch: EncodedBatch, symbols: Ints, board: Board) -> Read:
    """The conditions that each document meets.

    A path node that is entered promotes the next one of its machine: that one waits, in the list of its label, until
    the element is closed. XFilter keeps every instance of a promotion; here one that a waiting instance makes
    superfluous is left out, so that hostile documents cannot make their number explode.
    """
    nodes, machines, steps = raw(board.machines.nodes), raw(board.machines.machines), raw(board.machines.steps)
    waiting_offsets, waiting = raw(board.machines.waiting.offsets), raw(board.machines.waiting.items)
    machine_tests, tests = raw(board.machines.tests), raw_tests(board.tests)
    heads, is_deep, passed, stamps = raw(board.heads), raw(board.is_deep), raw(board.passed), raw(board.stamps)
    values = raw(batch.values)
    view = (raw(batch.path), raw(batch.parent), raw(symbols))
    levels, longest, most_texts = extent_of(batch, board.has_text)
    text_heads, following = np.empty(longest, np.int32), np.empty(most_texts, np.int32)
    # Promoted path nodes, each with the level at which it waits (negative: from which on) and the one before it in its
    # list. Those that elements at level k or above promoted are the first `tops[k + 1]`.
    promoted, at_level, before = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.int32)
    tops = np.zeros(levels + 2, np.int64)
    fitting = np.empty(1024, np.int32)
    met = np.empty((1024, 3), np.int32)
    used, compared, entered, promotions, turns = 0, 0, 0, 0, board.last_turn
    for document in range(batch.doc_offsets.size - 1):
        stamp = np.int32(board.last_stamp + 1 + document)
        first = batch.doc_offsets[document]
        if board.has_text:
            chain_texts(batch, document, text_heads, following)
        text_first = batch.text_offsets[document] if board.has_text else 0
        node, text = first, -1
        while node < batch.doc_offsets[document + 1] or text >= 0:
            is_text = text >= 0  # else the turn is that of `node`
            symbol = 0 if is_text else view[2][view[0][node]]
            level = batch.level[node - 1] + 1 if is_text else batch.level[node]
            above = node - 1 if is_text else batch.parent[node]
            turns += 1
            while promotions > tops[level]:
                promotions -= 1
                heads[nodes[PATH_NODE * promoted[promotions] + KEY]] = before[promotions]
                is_deep[promoted[promotions]] = 0
            fits = 0
            for part in range(1 if is_text else 2):
                key = key_of(symbol)
                if part == 1:
                    key = ANY_ELEMENT_KEY if symbol > 0 else ANY_ATTRIBUTE_KEY
                if key >= board.heads.size:  # a label that no pattern has
                    continue
                begin, stop = waiting_offsets[key], waiting_offsets[key + 1]
                fitting = longer(fitting, fits, fits + promotions + stop - begin)
                instance = heads[key]
                while instance >= 0:
                    compared += 1
                    asked, wanted = promoted[instance], at_level[instance]
                    if (level == wanted if wanted > 0 else level >= -wanted) and passed[asked] != turns:
                        passed[asked] = turns
                        fitting[fits] = asked
                        fits += 1
                    instance = before[instance]
                compared += stop - begin
                for k in range(begin, stop):
                    machine = MACHINE * waiting[k]
                    if stamps[waiting[k]] != stamp and _fits_above(
                        steps, machines[machine + BEGIN], machines[machine + END], above, view
                    ):
                        fitting[fits] = machines[machine + PIVOT]
                        fits += 1
            entered += fits
            if promotions + fits > promoted.size:
                room = promotions + fits
                promoted = longer(promoted, promotions, room)
                at_level, before = longer(at_level, promotions, room), longer(before, promotions, room)
            for k in range(fits):
                row = nodes[PATH_NODE * fitting[k] + FINAL]
                if row < 0:
                    following_node = fitting[k] + 1
                    distance = nodes[PATH_NODE * following_node + DISTANCE]
                    if symbol <= 0 or is_deep[following_node]:
                        continue
                    is_deep[following_node] = distance < 0
                    promoted[promotions] = following_node
                    at_level[promotions] = level + distance if distance > 0 else distance - level
                    key = nodes[PATH_NODE * following_node + KEY]
                    before[promotions] = heads[key]
                    heads[key] = promotions
                    promotions += 1
                    continue
                if stamps[row] == stamp:
                    continue
                if machine_tests[row] != LEAF:
                    if is_text:
                        start, end = batch.text_start[text], batch.text_end[text]
                    else:
                        start, end = batch.value_start[node], batch.value_end[node]
                    if not holds(tests, machine_tests[row], values, start, end):
                        continue
                stamps[row] = stamp
                met = more_rows(met, used)
                met[used, 0] = document
                met[used, 1] = row
                met[used, 2] = above if is_text else node
                used += 1
            if symbol > 0:
                tops[level + 1] = promotions
            if is_text:
                text = following[text - text_first]
            else:
                if board.has_text:
                    text = text_heads[node - first]
                node += 1
    while promotions > 0:
        promotions -= 1
        is_deep[promoted[promotions]] = 0
    return Read(met[:used], compared, entered)
