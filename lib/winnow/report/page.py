"""The pages: facts in, HTML out. Charts are inline SVG and styles are inline, so they need no network and no script."""

import math
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from winnow.report.details import RowsPage, quarantine_name, results_name
from winnow.report.facts import Bar, Facts, Trend

WIDTH, HEIGHT, LABELS = 560, 90, 220


def render(facts: Facts) -> str:
    """Returns the page of a date."""
    links = {"quarantine": quarantine_name(facts.date), "results": results_name(facts.date)}
    return str(_templates().get_template("page.html.jinja").render(facts=facts, links=links, bars=bars, line=line))


def render_rows(page: RowsPage) -> str:
    """Returns a page that is one table."""
    return str(_templates().get_template("rows.html.jinja").render(page=page))


@cache
def _templates() -> Environment:
    # Labels are data from outside: everything is escaped, and an unknown name is an error.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment


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
