"""The papers' claims, asked of what was measured. Verdicts come from counts, which every machine has; times are told.

Each function takes the points of a figure, ascending by x, and answers with a finding. A claim about an engine that was
not measured has no verdict.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Finding(NamedTuple):
    claim: str  # in our words
    holds: bool | None  # none: nothing to judge by
    sentence: str


Points = Sequence[dict[str, Any]]
Claim = Callable[[Points], Finding]

_TOLERANCE = 1.3
_COST = "comparisons"


def _of_each(
    claim: str,
    engines: Sequence[str],
    what: str,
    tell: Callable[[str, list[dict[str, Any]]], tuple[str, bool]],
    *,
    asked: slice = slice(None),
    why: str = "",
) -> Claim:
    """A claim about each engine on its own: `tell` says of its points, at least two, in words and whether it holds."""

    def judge(points: Points) -> Finding:
        some = {engine: _measured(points, engine)[asked] for engine in engines}
        told = {engine: tell(engine, own) for engine, own in some.items() if len(own) >= 2}
        if not told:
            return _unjudged(claim, points, engines)
        words = ", ".join(f"{engine} {sentence}" for engine, (sentence, _) in told.items())
        return _finding(claim, all(holds for _, holds in told.values()), f"{what}: {words}.", why)

    return judge


def in_proportion(claim: str, engines: Sequence[str], *, to: str = "x", why: str = "") -> Claim:
    """The count grows as x does, or as another count: by the same factor, give or take a third."""

    def tell(engine: str, points: list[dict[str, Any]]) -> tuple[str, bool]:
        growth = _count(points[-1], engine, _COST) / max(_count(points[0], engine, _COST), 1)
        factor = _base(points[-1], engine, to) / _base(points[0], engine, to)
        return f"{growth:.1f} times for {factor:.1f}", 1 / _TOLERANCE <= growth / factor <= _TOLERANCE

    return _of_each(claim, engines, "Comparisons grow", tell, why=why)


def flat(claim: str, engines: Sequence[str], *, asked: slice = slice(None), count: str = _COST, why: str = "") -> Claim:
    """The count hardly changes over the points that are asked."""

    def tell(engine: str, points: list[dict[str, Any]]) -> tuple[str, bool]:
        values = [_count(point, engine, count) for point in points]
        factor = max(values) / max(min(values), 1)
        return f"by a factor of {factor:.1f}", factor <= _TOLERANCE

    return _of_each(claim, engines, f"{_words(count)} change", tell, asked=asked, why=why)


def rising(claim: str, engines: Sequence[str], *, falling: bool = False, count: str = _COST) -> Claim:
    """The count is higher at the last point than at the first; or lower."""

    def tell(engine: str, points: list[dict[str, Any]]) -> tuple[str, bool]:
        first, last = (_count(point, engine, count) for point in (points[0], points[-1]))
        return f"from {first:,} to {last:,}", last < first if falling else last > first

    return _of_each(claim, engines, _words(count), tell)


def fewer(claim: str, better: str, worse: str, times: float, *, count: str = _COST, why: str = "") -> Claim:
    """At the last point that both have, the one engine counts at least so many times less than the other."""

    def judge(points: Points) -> Finding:
        both = [point for point in _measured(points, better) if point in _measured(points, worse)]
        if not both:
            return _unjudged(claim, points, (better, worse))
        last = both[-1]
        ours, theirs = (_count(last, engine, count) for engine in (better, worse))
        sentence = f"{_words(count)} at x = {last['x']:,}: {better} {ours:,}, {worse} {theirs:,}"
        speed = [last["engines"][engine].get("match_us") for engine in (better, worse)]
        if None not in speed:
            sentence += f"; matching takes {speed[0]:,.1f} and {speed[1]:,.1f} µs a document"
            if ours * times <= theirs and speed[0] * times > speed[1]:
                sentence += ", so in time it does not hold here"
        return _finding(claim, ours * times <= theirs, sentence + ".", why)

    return judge


def widening(claim: str, better: str, worse: str, count: str, why: str = "") -> Claim:
    """The one engine counts less than the other at the last point, and by a larger factor than at the first."""

    def judge(points: Points) -> Finding:
        both = [point for point in _measured(points, better) if point in _measured(points, worse)]
        if len(both) < 2:
            return _unjudged(claim, points, (better, worse))
        first, last = (_count(p, worse, count) / max(_count(p, better, count), 1) for p in (both[0], both[-1]))
        sentence = f"{_words(count)} of {worse} for one of {better}: {first:.3f} at first, {last:.3f} at last."
        return _finding(claim, last > max(first, 1.0), sentence, why)

    return judge


def largest_stage(claim: str, engine: str, stage: str) -> Claim:
    """Only told, not judged: stages are seconds."""

    def judge(points: Points) -> Finding:
        some = [point for point in points if "stages" in point["engines"].get(engine, {})]
        if not some:
            return _unjudged(claim, points, (engine,))
        stages = some[-1]["engines"][engine]["stages"]
        whole = sum(stages.values()) or 1.0
        largest = max(stages, key=stages.get)
        shares = {name: f"{name} {seconds / whole:.0%}" for name, seconds in stages.items()}
        return Finding(claim, None, f"Here the largest is {shares[largest]}; {shares[stage]}. Seconds are not judged.")

    return judge


def _measured(points: Points, engine: str) -> list[dict[str, Any]]:
    return [point for point in points if "counts" in point["engines"].get(engine, {})]


def _count(point: dict[str, Any], engine: str, count: str) -> int:
    return int(point["engines"][engine]["counts"].get(count, 0))


def _base(point: dict[str, Any], engine: str, to: str) -> float:
    return float(point["x"]) if to == "x" else float(_count(point, engine, to))


def _words(count: str) -> str:
    return count.replace("_", " ").capitalize()


def _finding(claim: str, holds: bool, sentence: str, why: str = "") -> Finding:
    """Where the paper and we differ, the reason is told, if we know one."""
    return Finding(claim, holds, sentence if holds or not why else f"{sentence} {why}")


def _unjudged(claim: str, points: Points, engines: Sequence[str]) -> Finding:
    missing = [engine for engine in engines if not _measured(points, engine)]
    return Finding(claim, None, f"Not measured: {', '.join(missing)}." if missing else "Too few points were measured.")
