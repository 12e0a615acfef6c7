"""The page: facts in, HTML out. Charts are inline SVG and styles are inline, so it needs no network and no script."""

import math
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined

from winnow.report.facts import Bar, Facts, Trend

WIDTH, HEIGHT, LABELS = 560, 90, 220


def render(facts: Facts) -> str:
    return str(_template().render(facts=facts, bars=bars, line=line))


@cache
def _template() -> Any:
    # Labels are data from outside: everything is escaped, and an unknown name is an error.
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["number"] = number
    return environment.from_string(resources.files(__package__).joinpath("page.html.jinja").read_text())


def number(value: float) -> str:
    """
    >>> number(1234567), number(0.25), number(12.5)
    ('1,234,567', '0.25', '12.5')
    """
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}" if abs(value) < 10 else f"{value:,.1f}"


def bars(rows: list[Bar], *, logarithmic: bool = False) -> list[tuple[Bar, float]]:
    """Each row with its share of the widest, 0 to 100; logarithmic where rows differ by powers of ten."""
    scale = (lambda value: math.log10(1 + value)) if logarithmic else float
    widest = max((scale(row.value) for row in rows), default=0) or 1
    return [(row, 100 * scale(row.value) / widest) for row in rows]


def line(trend: Trend) -> dict[str, Any]:
    """Points of a polyline, and the last value."""
    top = max(trend.values, default=0) or 1
    step = WIDTH / max(len(trend.values) - 1, 1)
    points = [(k * step, HEIGHT - 8 - value / top * (HEIGHT - 20)) for k, value in enumerate(trend.values)]
    return {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), "dots": points, "top": top}
