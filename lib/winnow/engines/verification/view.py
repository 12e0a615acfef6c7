"""What the verification kernels see of a batch and of the store, and the questions about single nodes."""

from typing import NamedTuple

from winnow.arrays.kernel import inlined
from winnow.arrays.types import Bytes, Ints, Longs
from winnow.patterns.twigs import BODY, FLAGS, KIND, TESTS, TEXT, Tests, label_fits
from winnow.patterns.value_tests import holds


class View(NamedTuple):
    """The batch as pointers: a call that hands on arrays would count references."""

    path: Ints
    symbol_of: Ints  # per path
    parent: Ints
    end: Ints
    value_start: Ints
    value_end: Ints
    values: Bytes
    text_parent: Ints
    text_start: Ints
    text_end: Ints


class Store(NamedTuple):
    """The twigs as pointers."""

    pool: Ints
    offsets: Longs
    tests: Tests


@inlined
def spot_of(view: View, item: int, is_text: bool) -> int:
    """The element that a child step leads back to: the parent; the element around a text node."""
    return int(view.text_parent[item]) if is_text else int(view.parent[item])


@inlined
def passes(view: View, store: Store, twig: int, item: int) -> bool:
    """The tests of the twig at pool position `twig` on a node or a text node."""
    pool = store.pool
    count = pool[twig + TESTS]
    if count == 0:
        return True
    if pool[twig + FLAGS] & KIND == TEXT:
        start, end = view.text_start[item], view.text_end[item]
    else:
        start, end = view.value_start[item], view.value_end[item]
    k = 0
    while k < count and holds(store.tests, pool[twig + BODY + k], view.values, start, end):
        k += 1
    return bool(k == count)


@inlined
def is_below(view: View, item: int, is_text: bool, top: int, axis: int) -> bool:
    spot = spot_of(view, item, is_text)
    if axis == 0 or top < 0:
        return spot == top or (axis == 1 and top < 0)
    return bool(top <= spot < view.end[top])


@inlined
def is_on_line(view: View, spine: Ints, steps: int, node: int) -> bool:
    """The ancestors of `node`, which fits the last of `steps` steps, fit the others.

    Upwards, each step as low as possible. When that fails, the last gap (`//`) is tried one ancestor higher; gaps
    below it need not be, since a lower place for the steps between leaves more room above.
    """
    step = steps - 1
    above = view.parent[node]
    gap, gap_above = -1, -1
    if spine[step] & 1:
        gap, gap_above = step, above
    while True:
        if step == 0:
            if spine[0] & 1 or above < 0:
                return True
        elif above >= 0 and label_fits(spine[step - 1] >> 1, view.symbol_of[view.path[above]]):
            step -= 1
            above = view.parent[above]
            if spine[step] & 1:
                gap, gap_above = step, above
            continue
        if gap_above < 0:
            return False
        gap_above = view.parent[gap_above]
        step, above = gap, gap_above
        if above < 0:
            return False
