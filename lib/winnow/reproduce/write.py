"""All outputs of a run: one JSON, PNG and SVG for each figure, and the index page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from winnow.reproduce.page import Shown, render
from winnow.reproduce.plots import draw
from winnow.reproduce.run import Task, points


def write(todo: Sequence[Task], folder: Path, scale: str) -> Path:
    """The place of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = []
    for figure, measured in points(todo):
        findings = [claim(measured) for claim in figure.claims]
        _, image = draw(figure, measured, folder)
        result: dict[str, Any] = {
            "figure": figure.name,
            "paper": figure.paper,
            "number": figure.number,
            "caption": figure.caption,
        }
        result |= {"findings": [finding._asdict() for finding in findings], "points": measured}
        (folder / f"{figure.name}.json").write_text(json.dumps(result, indent=1) + "\n")
        shown.append(Shown(figure, measured, findings, image))
    page = folder / "index.html"
    page.write_text(render(shown, scale))
    return page
