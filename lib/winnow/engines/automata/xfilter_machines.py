"""XFilter's machines: a list of path nodes for every line of every pattern, shared with none (Altinel and Franklin).

The baseline of XTrie (Chan, Felber, Garofalakis, Rastogi, ICDE 2002, §5 and Figure 7). A path node is a step with a
label, and how far below the path node before it: exactly so many levels, or, with a `//` on the way, at least so many.
A `*` is only counted, unless the line ends with it.

**List balance**: a machine does not wait for its first path node but for its *pivot*, the one that the fewest machines
wait for; what comes above the pivot is looked up among the ancestors.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import inlined, kernel
from winnow.arrays.types import Ints
from winnow.engines.automata.conditions import Asked
from winnow.engines.predicates.access import Rows
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT

# A path node: the key of its list, its distance (negative: at least), the machine that it ends, or -1.
KEY, DISTANCE, FINAL, PATH_NODE = range(4)
# A machine: its pivot among the path nodes, and its steps from the top down, as far as the pivot.
PIVOT, BEGIN, END, MACHINE = range(4)
ANY_ELEMENT_KEY, ANY_ATTRIBUTE_KEY = 0, 1


class Machines(NamedTuple):
    nodes: Ints  # PATH_NODE numbers each
    machines: Ints  # MACHINE numbers each
    steps: Ints
    tests: Ints  # per machine
    waiting: Rows  # per key: machines that wait for it


class MachineTable:
    """The growing owner of `Machines`; a machine is known by the number of its row."""

    def __init__(self) -> None:
        self._nodes, self._machines, self._steps, self._tests, self._owner = (Column(np.int32) for _ in range(5))
        self._counts = Column(np.int32)  # per key: machines that wait for it

    def __len__(self) -> int:
        return len(self._tests)

    @property
    def path_nodes(self) -> int:
        return len(self._nodes) // PATH_NODE

    @property
    def nbytes(self) -> int:
        columns = (self._nodes, self._machines, self._steps, self._tests, self._owner, self._tests)
        return sum(int(column.view.nbytes) for column in columns)

    def add(self, asked: Asked, labels: int) -> Ints:
        """The numbers of new machines. `labels` is the size of the vocabulary."""
        self._counts.resize(labels + 2, 0)
        rows = range(len(self), len(self) + asked.test.size)
        nodes, machines, steps = _build(asked, self._counts.view, self.path_nodes, len(self._steps), rows.start)
        self._nodes.extend(nodes)
        self._machines.extend(machines)
        self._steps.extend(steps)
        self._tests.extend(asked.test)
        self._owner.extend(asked.owner)
        return np.arange(rows.start, rows.stop, dtype=np.int32)

    def live(self, live: "np.typing.NDArray[np.bool_]") -> Machines:
        """The machines, of which those of live patterns wait."""
        machines, nodes = self._machines.view, self._nodes.view
        waiting = np.flatnonzero(live[self._owner.view]).astype(np.int32)
        key = nodes[PATH_NODE * machines[MACHINE * waiting + PIVOT] + KEY]
        offsets = np.zeros(len(self._counts) + 1, np.int64)
        np.cumsum(np.bincount(key, minlength=len(self._counts)), out=offsets[1:])
        lists = Rows(offsets, waiting[np.argsort(key, kind="stable")])
        return Machines(nodes, machines, self._steps.view, self._tests.view, lists)


@inlined
def key_of(symbol: int) -> int:
    """The list of a label, of text (symbol 0), or of a wildcard."""
    if symbol == ANY_ELEMENT:
        return ANY_ELEMENT_KEY
    return ANY_ATTRIBUTE_KEY if symbol == ANY_ATTRIBUTE else abs(symbol) + 2


@kernel
def _build(asked: Asked, counts: Ints, first_node: int, first_step: int, first_row: int) -> tuple[Ints, Ints, Ints]:
    nodes = np.empty(PATH_NODE * asked.steps.size, np.int32)
    machines = np.empty(MACHINE * asked.test.size, np.int32)
    steps = np.empty(asked.steps.size, np.int32)
    used, written = 0, 0
    for k in range(asked.test.size):
        machines[MACHINE * k + BEGIN] = first_step + written
        distance, is_exact = 0, True
        best = -1
        for i in range(asked.ends[k + 1] - 1, asked.ends[k] - 1, -1):
            symbol = asked.steps[i] >> 1
            steps[written] = asked.steps[i]
            written += 1
            distance += 1
            is_exact = is_exact and asked.steps[i] & 1 == 0
            is_last = i == asked.ends[k]
            is_wild = symbol in (ANY_ELEMENT, ANY_ATTRIBUTE)
            if is_wild and not is_last:
                continue
            key = key_of(symbol)
            nodes[used + KEY] = key
            nodes[used + DISTANCE] = distance if is_exact else -distance
            nodes[used + FINAL] = first_row + k if is_last else -1
            # All elements look at the list of `*`, however short it is.
            if best < 0 or (not is_wild and counts[key] < counts[best]):
                best = key
                machines[MACHINE * k + PIVOT] = first_node + used // PATH_NODE
                machines[MACHINE * k + END] = first_step + written
            used += PATH_NODE
            distance, is_exact = 0, True
        counts[best] += 1
    return nodes[:used], machines, steps
