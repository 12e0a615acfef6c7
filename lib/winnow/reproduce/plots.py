"""One plot for each figure, as PNG and SVG: times on the left, counts on the right, or stages as stacked bars."""

from pathlib import Path
from typing import Any

from winnow.reproduce.figure import Figure
from winnow.reproduce.stages import STAGES

_COLOURS = (
    "#1f6f8b",
    "#d1495b",
    "#edae49",
    "#66a182",
    "#6c4f8c",
    "#2e4057",
    "#a06b3c",
    "#c86fc9",
    "#8d96a3",
    "#4f9d9d",
)
_PARSING = "#9aa5b1"


def draw(figure: Figure, points: list[dict[str, Any]], folder: Path) -> tuple[Path, Path]:
    """The same points give the same bytes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = figure.name
    whole, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), constrained_layout=True)
    if any("stages" in engine for point in points for engine in point["engines"].values()):
        _stages(left, right, figure, points)
    elif len(points) == 1:
        _arrivals(left, right, figure, points[0]["engines"])
    else:
        _lines(left, right, figure, points)
    files = folder / f"{figure.name}.png", folder / f"{figure.name}.svg"
    whole.savefig(files[0], dpi=110)
    whole.savefig(files[1], metadata={"Date": None})
    plt.close(whole)
    return files


def _lines(left: Any, right: Any, figure: Figure, points: list[dict[str, Any]]) -> None:
    for name, colour in zip(figure.names, _COLOURS * 3, strict=False):
        have = [(p["x"], p["engines"][name]) for p in points if "match_us" in p["engines"].get(name, {})]
        if not have:
            continue
        xs = [x for x, _ in have]
        style = {"color": colour, "marker": "o", "markersize": 4, "linewidth": 2.6 if name == "boxpath" else 1.4}
        left.plot(xs, [e["match_us"] + e["scan_us"] for _, e in have], label=name, **style)
        counted = [(x, e["counts"][figure.shown_count]) for x, e in have if e["counts"].get(figure.shown_count)]
        right.plot([x for x, _ in counted], [count for _, count in counted], **style)
    parsed = [(p["x"], min(e["lxml_parse_us"] for e in _all(p))) for p in points if _all(p)]
    left.plot([x for x, _ in parsed], [us for _, us in parsed], "--", color=_PARSING, label="lxml parsing alone")
    left.set_ylabel("scan and match, µs a document")
    right.set_ylabel(f"{figure.shown_count.replace('_', ' ')}, each engine's own kind")
    for axes in (left, right):
        axes.set_xlabel(figure.axis)
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
        if figure.is_logarithmic:
            axes.set_xscale("log")
    left.legend(fontsize=8)
    if missing := left_out(points):
        right.set_title("; ".join(missing), fontsize=8)


def _arrivals(left: Any, right: Any, figure: Figure, measured: dict[str, Any]) -> None:
    """When notifications arrive, and what it took."""
    for name, colour in zip(figure.names, _COLOURS, strict=False):
        curve = measured.get(name, {}).get("arrivals", [])
        left.plot([total for _, total in curve], [seconds for seconds, _ in curve], color=colour, label=name)
    have = [name for name in figure.names if "counts" in measured.get(name, {})]
    right.barh(have, [measured[name]["counts"][figure.shown_count] for name in have], color=_COLOURS[: len(have)])
    right.set_xlabel(figure.shown_count)
    right.invert_yaxis()
    left.set_xlabel("notifications")
    left.set_ylabel("seconds until they are sent")
    left.set_yscale("log")
    left.grid(alpha=0.3)
    left.legend(fontsize=8)


def _all(point: dict[str, Any]) -> list[dict[str, Any]]:
    return [engine for engine in point["engines"].values() if "lxml_parse_us" in engine]


def left_out(points: list[dict[str, Any]]) -> list[str]:
    """Who is missing, and from where on."""
    first: dict[str, tuple[float, float]] = {}
    for point in points:
        for name, engine in point["engines"].items():
            if "left_out" in engine:
                first.setdefault(name, (point["x"], engine["left_out"]))
    return [f"{name} left out from x = {x:g}: over {budget:g} s before" for name, (x, budget) in first.items()]


def _stages(left: Any, right: Any, figure: Figure, points: list[dict[str, Any]]) -> None:
    (name,) = figure.names
    labels = [f"{point['x']:,.0f}" for point in points]
    found = [point["engines"][name]["stages"] for point in points]
    for axes, whole in ((left, [sum(stages.values()) or 1.0 for stages in found]), (right, [1.0] * len(found))):
        below = [0.0] * len(found)
        for stage, colour in zip(STAGES, _COLOURS, strict=False):
            heights = [stages[stage] / total for stages, total in zip(found, whole, strict=True)]
            axes.bar(labels, heights, bottom=below, color=colour, label=stage)
            below = [b + h for b, h in zip(below, heights, strict=True)]
        axes.set_xlabel(figure.axis)
    left.set_ylabel("share of the whole time")
    right.set_ylabel("CPU seconds")
    left.legend(fontsize=8)
