"""The index page: every figure with the paper's claims beside what was measured. One file, no script, no network."""

import base64
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, StrictUndefined

from winnow.reproduce.claims import Finding
from winnow.reproduce.figure import Figure
from winnow.reproduce.plots import left_out


class Shown(NamedTuple):
    figure: Figure
    points: list[dict[str, Any]]
    findings: list[Finding]
    image: Path  # SVG


def render(shown: list[Shown], scale: str) -> str:
    judged = [finding for each in shown for finding in each.findings]
    counts = {words: sum(f.holds is holds for f in judged) for words, holds in _VERDICTS.items()}
    helpers = {"picture": _picture, "verdict": _verdict, "left_out": left_out}
    return str(_template().render(shown=shown, scale=scale, counts=counts, **helpers))


_VERDICTS = {"holds": True, "differs": False, "not judged": None}


def _verdict(finding: Finding) -> str:
    return next(words for words, holds in _VERDICTS.items() if finding.holds is holds)


def _picture(image: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(image.read_bytes()).decode()


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(resources.files(__package__).joinpath("page.html.jinja").read_text())
