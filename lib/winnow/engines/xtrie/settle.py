"""What is complete in XTrie's table is told upwards (Chan, Felber, Garofalakis, Rastogi, ICDE 2002, §4.2)."""

from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints
from winnow.engines.xtrie.levels import (
    BESIDE,
    COMPARED,
    ENTRY,
    ENTRY_ROW,
    FREE,
    HIGHER,
    LEVEL,
    MEETING,
    MET_BEFORE,
    MET_LEVEL,
    TASKS,
    Growing,
    Levels,
    Turn,
    key_of,
    link_entry,
    reaches_up,
    with_entries,
    with_found,
    with_task,
)
from winnow.engines.xtrie.rows import (
    ALL,
    BEFORE,
    BIT,
    BITS,
    FINAL,
    LEAST,
    MASKS,
    OWNER,
    PARENT,
    ROW,
    TIMED,
)


@kernel
def settle(growing: Growing, levels: Levels, meetings: Ints, turn: Turn) -> Growing:
    """Work off the tasks: what is complete is told to the parents, up to the final row (§4.2, Figure 6).

    A child is complete for all matches of its parent that are as far above as its levels say, whatever their number.
    Where a parent knows of a child, all higher ones do: then the walk ends, unless the child has to wait for others.
    """
    rows, masks, last_entry, last_meeting, stamps, is_lazy = levels
    counters = growing.counters
    while counters[TASKS]:
        counters[TASKS] -= 1
        row, level = growing.tasks[2 * counters[TASKS]], growing.tasks[2 * counters[TASKS] + 1]
        owner = rows[ROW * row + OWNER]
        if stamps[owner] == turn.stamp:
            continue
        if rows[ROW * row + BITS] & FINAL:
            if is_lazy:
                fits, asked = reaches_up(rows, last_meeting, meetings, row, level)
                counters[COMPARED] += asked
                if not fits:
                    continue
            growing = with_found(growing, stamps, owner, turn)
            continue
        parent, least = rows[ROW * row + PARENT], rows[ROW * row + LEAST]
        bit, before = 1 << rows[ROW * row + BIT], masks[MASKS * row + BEFORE]
        place = level - abs(least)  # the next level at which the parent may be
        deeper, entry = -1, last_entry[parent]
        meeting = last_meeting[key_of(rows, parent, is_lazy)]
        while True:
            while meeting >= 0 and meetings[MEETING * meeting + MET_LEVEL] > place:
                meeting = meetings[MEETING * meeting + MET_BEFORE]
            if meeting < 0 or (least >= 0 and meetings[MEETING * meeting + MET_LEVEL] != place):
                break
            at = int(meetings[MEETING * meeting + MET_LEVEL])
            counters[COMPARED] += 1
            while entry >= 0 and growing.entries[ENTRY * entry + LEVEL] > at:
                deeper, entry = entry, growing.entries[ENTRY * entry + HIGHER]
            if entry < 0 or growing.entries[ENTRY * entry + LEVEL] != at:
                if counters[FREE] < 0:
                    growing = with_entries(growing)
                entry = link_entry(growing, last_entry, parent, at, deeper)
            known = growing.complete[entry]
            if known & bit:
                if before == 0:
                    break
            elif known & before == before:
                growing.complete[entry] = known | bit
                if known | bit == masks[MASKS * parent + ALL] and not rows[ROW * parent + BITS] & TIMED:
                    growing = with_task(growing, parent, at)
            if least >= 0:
                break
            place = at - 1
    return growing


@kernel
def close_level(growing: Growing, levels: Levels, meetings: Ints, level: int, turn: Turn) -> Growing:
    """The element at the deepest level ends: children in order are complete now, and the level's entries are freed.

    Post-order is the order in which elements end, so each child in order takes the first element that will do.
    """
    entry = growing.at_level[level]
    while entry >= 0:
        row = growing.entries[ENTRY * entry + ENTRY_ROW]
        if levels.rows[ROW * row + BITS] & TIMED and growing.complete[entry] == levels.masks[MASKS * row + ALL]:
            growing = with_task(growing, row, level)
        entry = growing.entries[ENTRY * entry + BESIDE]
    if growing.counters[TASKS]:
        # From the last row to the first: one element cannot stand for two children in order (§4.1).
        growing.tasks[: 2 * growing.counters[TASKS] : 2].sort()
        growing = settle(growing, levels, meetings, turn)
    entry = growing.at_level[level]
    while entry >= 0:
        at = ENTRY * entry
        levels.last_entry[growing.entries[at + ENTRY_ROW]] = growing.entries[at + HIGHER]
        growing.entries[at + HIGHER] = growing.counters[FREE]
        growing.counters[FREE] = entry
        entry = growing.entries[at + BESIDE]
    growing.at_level[level] = -1
    return growing
