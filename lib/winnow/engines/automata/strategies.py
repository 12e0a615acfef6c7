"""When values are asked, beside structure: the strategies of Miliaraki and Koubarakis, DEBS 2010, §4.

A strategy is a way to rewrite what a structural engine is asked. So every such engine has all of them, and whatever it
leaves open the shared verification closes.

- `step-by-step` (§4.5): a value is tested where the line to it has been met. This is what the engines do by themselves.
- `top-down` (§4.3): structure first; values are tested of patterns whose structure is there.
- `bottom-up` (§4.2): values first, wherever they are; structure is tested of patterns whose values are all there.
- `top-down-pruned` (§4.4): top-down, but documents go only to those fragments of the patterns whose value filter has
  one of their values. A filter has one predicate of each pattern: its most selective, or with `-random` any.
"""

import numpy as np

from winnow.arrays.types import Ints
from winnow.engines.automata.conditions import Asked
from winnow.patterns.intern import select_runs
from winnow.patterns.lines import LEAF

STEP_BY_STEP, TOP_DOWN, BOTTOM_UP = "step-by-step", "top-down", "bottom-up"
PRUNED, PRUNED_RANDOM = "top-down-pruned", "top-down-pruned-random"
STRATEGIES = (STEP_BY_STEP, TOP_DOWN, BOTTOM_UP, PRUNED, PRUNED_RANDOM)


def rewrite(asked: Asked, strategy: str) -> tuple[Asked, Ints]:
    """What to ask instead, and the owners of rows that now say less than they did."""
    tested = asked.test != LEAF
    if strategy == STEP_BY_STEP or not tested.any():
        return asked, np.zeros(0, np.int32)
    if strategy == TOP_DOWN:
        return asked._replace(test=np.full(asked.test.size, LEAF, np.int32)), np.unique(asked.owner[tested])
    kept = np.flatnonzero(tested | ~np.isin(asked.owner, asked.owner[tested]))
    steps, ends = select_runs(asked.steps, asked.ends, kept)
    lengths = np.where(tested[kept], 1, np.diff(ends))
    lowest = ends[:-1][tested[kept]]
    is_cut = (np.diff(ends)[tested[kept]] > 1) | (steps[lowest] & 1 == 0)
    steps[lowest] |= 1  # wherever it is
    new_ends = np.concatenate([[0], np.cumsum(lengths)])
    positions = np.arange(new_ends[-1]) + np.repeat(ends[:-1] - new_ends[:-1], lengths)
    reduced = Asked(steps[positions], new_ends.astype(np.int64), asked.test[kept], asked.owner[kept])
    return reduced, np.unique(asked.owner[kept][tested[kept]][is_cut])
