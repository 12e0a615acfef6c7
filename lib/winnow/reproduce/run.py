"""Measure figures point by point. What is measured is kept at once, and not measured again with the same parameters."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from winnow.errors import DataError
from winnow.reproduce.figure import Figure
from winnow.reproduce.sweeps import Scale
from winnow.reproduce.workload import Workload

VERSION = 1  # of what a point holds: another one is measured anew


class Task(NamedTuple):
    """A point of a figure. Figures that meet in a workload share what was measured there."""

    figure: Figure
    x: float
    workload: Workload
    file: Path

    def read(self) -> dict[str, Any]:
        """The point as far as it is measured."""
        fresh = {
            "version": VERSION,
            "measure": self.figure.measure.__name__,
            "parameters": self.workload.parameters(),
            "engines": {},
        }
        try:
            known: dict[str, Any] = json.loads(self.file.read_text())
        except (FileNotFoundError, ValueError):  # never written, or cut off by whoever stopped us
            return fresh
        return known if fresh | {"engines": known.get("engines")} == known else fresh

    def write(self, point: dict[str, Any]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        partial = self.file.with_suffix(".partial")
        partial.write_text(json.dumps(point, indent=1) + "\n")
        partial.replace(self.file)


def tasks(figures: Sequence[Figure], scale: Scale, folder: Path) -> list[Task]:
    return [
        Task(figure, x, workload, folder / "points" / f"{figure.measure.__name__}-{workload.digest()}.json")
        for figure in figures
        for x, workload in figure.sweep(scale).items()
    ]


def measure(todo: Sequence[Task], *, budget: float, begin: Callable[[Task, str], None]) -> None:
    """An engine that takes more seconds than `budget` at one point is left out at the next ones of the same figure."""
    over: set[tuple[str, str]] = set()
    for task in todo:
        point = task.read()
        for name in task.figure.names:
            begin(task, name)
            key = task.figure.name, name
            known = point["engines"].get(name)
            if known is None or known.get("left_out", budget) < budget:  # left out by a smaller budget than today's
                known = {"left_out": budget} if key in over else task.figure.measure(task.workload, name)
                point["engines"][name] = known
                _check(task, point)
                task.write(point)
            if known.get("seconds", 0.0) > budget:
                over.add(key)


def points(todo: Sequence[Task]) -> Iterator[tuple[Figure, list[dict[str, Any]]]]:
    """The points of each figure, ascending by x."""
    for figure in dict.fromkeys(task.figure.name for task in todo):
        own = [task for task in todo if task.figure.name == figure]
        yield own[0].figure, [{"x": task.x} | _of_figure(task) for task in own]


def _of_figure(task: Task) -> dict[str, Any]:
    point = task.read()
    return point | {"engines": {name: point["engines"][name] for name in task.figure.names if name in point["engines"]}}


def _check(task: Task, point: dict[str, Any]) -> None:
    """All engines give the same matches, or the figure would compare different work."""
    counts = {name: e["counts"]["matches"] for name, e in point["engines"].items() if "matches" in e.get("counts", {})}
    if len(set(counts.values())) > 1:
        words = f"engines disagree on the matches of {task.figure.name} at x = {task.x:g}: {counts}"
        raise DataError("engines_disagree", words, hint="this is a defect of an engine; the point was not kept")
