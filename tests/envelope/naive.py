"""Slow, obvious twins of the envelope package: plain Python over lists of (low, high) positions."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

Box = tuple[int, int]


class Query(NamedTuple):
    boxes: tuple[Box, ...]
    adjacent: tuple[int, ...]


def meets(a: Box, b: Box) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def is_subsequence(query: Sequence[Box], data: Sequence[Box]) -> bool:
    rest = iter(data)
    return all(any(meets(q, d) for d in rest) for q in query)


def line_matches(query: Query, data: Sequence[Box]) -> bool:
    """Try every placement: `at` is where step `i` lies; the end of the data is where the step after the last would."""
    steps, room = len(query.boxes), len(data)

    @cache
    def lies(i: int, at: int) -> bool:
        if i == steps:
            return at == room
        if at >= room or not meets(query.boxes[i], data[at]):
            return False
        return lies(i + 1, at + 1) if query.adjacent[i] else any(lies(i + 1, k) for k in range(at + 1, room + 1))

    return steps == 0 or lies(0, 0)


def join(queries: Sequence[Query], data: Sequence[Sequence[Box]], *, line: bool) -> list[tuple[int, int]]:
    """Sorted (data, query) pairs, by looking at all of them."""
    return [
        (d, q)
        for d, sequence in enumerate(data)
        for q, query in enumerate(queries)
        if (line_matches(query, sequence) if line else is_subsequence(query.boxes, sequence))
    ]
