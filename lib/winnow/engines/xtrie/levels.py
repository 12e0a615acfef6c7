"""XTrie's run-time information: at which levels substrings and rows have matches (Chan et al., ICDE 2002, §4.2).

The paper's array B, of rows and levels, is sparse: an entry is kept for a row at the level of an open element, with a
mask of the children that are complete, as soon as there is one. The entries of a row are linked, the deepest first,
those of a level as well; so any depth will do. That a row has a match at a level at all is a *meeting*. The eager
variant notes meetings row by row, if the parent has a fitting one; the lazy variant notes those of substrings.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints, Longs
from winnow.engines.automata.reading import longer, more_rows
from winnow.engines.xtrie.rows import BITS, FINAL, LEAST, OWNER, PARENT, ROW, SUBSTRING, TIMED

# An entry: its row, its level, the next entry of the row and the next of the level, or -1.
ENTRY_ROW, LEVEL, HIGHER, BESIDE, ENTRY = range(5)
# A meeting: its key, a row or a substring, its level, and the last one before with this key.
MET_KEY, MET_LEVEL, MET_BEFORE, MEETING = range(4)
# Counters.
FREE, TASKS, FOUND, COMPARED, MOVED, PROBED, COUNTERS = range(7)


class Levels(NamedTuple):
    """What does not grow while documents are read. The last entries and meetings are -1 between documents."""

    rows: Ints
    masks: Longs
    last_entry: Ints  # per row
    last_meeting: Ints  # per key
    stamps: Ints  # per pattern: the stamp of the last document that met it
    is_lazy: bool


class Turn(NamedTuple):
    """Where the reading is. The stamp is that of the document."""

    document: int
    node: int
    stamp: np.int32


class Growing(NamedTuple):
    """Arrays that are replaced as they grow. Entries that are not in use are linked from `FREE`."""

    entries: Ints
    complete: Longs  # per entry: a mask of children
    at_level: Ints  # per level: its first entry
    tasks: Ints  # pairs (row, level) that are complete, of which their parents do not know yet
    found: Ints  # rows (document, pattern, node)
    counters: Longs


@kernel
def new_growing(levels: int) -> Growing:
    counters = np.zeros(COUNTERS, np.int64)
    counters[FREE] = -1
    return Growing(
        np.empty(0, np.int32),
        np.empty(0, np.int64),
        np.full(levels + 1, -1, np.int32),
        np.empty(64, np.int32),
        np.empty((1024, 3), np.int32),
        counters,
    )


@kernel
def with_entries(growing: Growing) -> Growing:
    """Room for more of them."""
    count = growing.entries.size // ENTRY
    entries = longer(growing.entries, ENTRY * count, ENTRY * (count + 256))
    complete = longer(growing.complete, count, entries.size // ENTRY)
    for entry in range(entries.size // ENTRY - 1, count - 1, -1):
        entries[ENTRY * entry + HIGHER] = growing.counters[FREE]
        growing.counters[FREE] = entry
    return Growing(entries, complete, growing.at_level, growing.tasks, growing.found, growing.counters)


@inlined
def link_entry(growing: Growing, last_entry: Ints, row: int, level: int, deeper: int) -> int:
    """A new entry of a row, after that of a deeper level or, for -1, as the deepest. There must be a free one."""
    entries = growing.entries
    entry = growing.counters[FREE]
    growing.counters[FREE] = entries[ENTRY * entry + HIGHER]
    growing.counters[MOVED] += 1
    growing.complete[entry] = 0
    entries[ENTRY * entry + ENTRY_ROW] = row
    entries[ENTRY * entry + LEVEL] = level
    entries[ENTRY * entry + BESIDE] = growing.at_level[level]
    growing.at_level[level] = entry
    if deeper < 0:
        entries[ENTRY * entry + HIGHER] = last_entry[row]
        last_entry[row] = entry
    else:
        entries[ENTRY * entry + HIGHER] = entries[ENTRY * deeper + HIGHER]
        entries[ENTRY * deeper + HIGHER] = entry
    return int(entry)


@inlined
def with_found(growing: Growing, stamps: Ints, owner: int, turn: Turn) -> Growing:
    count = growing.counters[FOUND]
    found = more_rows(growing.found, count)
    stamps[owner] = turn.stamp
    found[count, 0] = turn.document
    found[count, 1] = owner
    found[count, 2] = turn.node
    growing.counters[FOUND] = count + 1
    return Growing(growing.entries, growing.complete, growing.at_level, growing.tasks, found, growing.counters)


@inlined
def with_task(growing: Growing, row: int, level: int) -> Growing:
    count = growing.counters[TASKS]
    tasks = growing.tasks
    if 2 * count + 2 > tasks.size:
        tasks = longer(tasks, 2 * count, 2 * count + 2)
    tasks[2 * count] = row
    tasks[2 * count + 1] = level
    growing.counters[TASKS] = count + 1
    return Growing(growing.entries, growing.complete, growing.at_level, tasks, growing.found, growing.counters)


@inlined
def key_of(rows: Ints, row: int, is_lazy: bool) -> int:
    """What the meetings of a row are found by."""
    return int(rows[ROW * row + SUBSTRING]) if is_lazy else row


@inlined
def noted_as(meetings: Ints, last_meeting: Ints, met: int, key: int, level: int) -> int:
    """Note a meeting, for which there must be room; how many there are then."""
    meetings[MEETING * met + MET_KEY] = key
    meetings[MEETING * met + MET_LEVEL] = level
    meetings[MEETING * met + MET_BEFORE] = last_meeting[key]
    last_meeting[key] = met
    return met + 1


@inlined
def reaches_up(rows: Ints, last_meeting: Ints, meetings: Ints, row: int, level: int) -> tuple[bool, int]:
    """Lazy: the substrings above a row that is met at a level were met at fitting levels; how many were asked for.

    Each as deep as possible. When that fails, the one below the last gap (`//`) is tried one meeting higher; gaps
    below it need not be, since a deeper place for what lies between leaves more room above.
    """
    asked = 0
    gap_row, gap = -1, -1
    while True:
        parent, least = rows[ROW * row + PARENT], rows[ROW * row + LEAST]
        deepest = level - abs(least)
        if parent < 0:
            if deepest == 0 or (least < 0 and deepest > 0):
                return True, asked
        else:
            asked += 1
            meeting = last_meeting[rows[ROW * parent + SUBSTRING]]
            while meeting >= 0 and meetings[MEETING * meeting + MET_LEVEL] > deepest:
                meeting = meetings[MEETING * meeting + MET_BEFORE]
            if meeting < 0:  # a higher place for what is below would not help
                return False, asked
            if least < 0:
                gap_row, gap = parent, meeting
            if least < 0 or meetings[MEETING * meeting + MET_LEVEL] == deepest:
                row, level = parent, meetings[MEETING * meeting + MET_LEVEL]
                continue
        if gap >= 0:
            gap = meetings[MEETING * gap + MET_BEFORE]
        if gap < 0:
            return False, asked
        row, level = gap_row, meetings[MEETING * gap + MET_LEVEL]


@inlined
def hangs_below(last_meeting: Ints, meetings: Ints, parent: int, least: int, level: int) -> bool:
    """Eager: the parent was met as far above the level as it has to be (§4.2, Figure 5, step 11)."""
    place = level - abs(least)
    meeting = last_meeting[parent]
    while meeting >= 0 and meetings[MEETING * meeting + MET_LEVEL] > place:
        meeting = meetings[MEETING * meeting + MET_BEFORE]
    return bool(meeting >= 0 and (least < 0 or meetings[MEETING * meeting + MET_LEVEL] == place))


@kernel
def completed(growing: Growing, levels: Levels, row: int, level: int, turn: Turn) -> Growing:
    """A leaf is complete: so is the pattern, or the parents will hear of it, at once or when the element ends."""
    bits, owner = levels.rows[ROW * row + BITS], levels.rows[ROW * row + OWNER]
    if bits & FINAL:
        return with_found(growing, levels.stamps, owner, turn)
    if bits & TIMED:
        if growing.counters[FREE] < 0:
            growing = with_entries(growing)
        link_entry(growing, levels.last_entry, row, level, -1)
        return growing
    return with_task(growing, row, level)
