"""The guide shows the supported fragment as it is."""

import doctest
import importlib
import pkgutil
from dataclasses import asdict
from pathlib import Path

import pytest

import winnow.xpath
from winnow.deciding.limits import DEFAULT_EVALUATION
from winnow.deciding.undecided import Why
from winnow.xpath import DEFAULT_LIMITS, Rejected, compile_profile
from winnow.xpath.fragment import FRAGMENT, Row, table

GUIDE = Path(__file__).parents[2] / "infra" / "docs" / "profile-language.md"


@pytest.mark.parametrize("row", FRAGMENT, ids=lambda row: row.construct)
def test_the_example_has_the_outcome(row: Row) -> None:
    try:
        outcome = compile_profile(row.example, {"n": "urn:n"}).klass.value
    except Rejected as error:
        outcome = error.code
    assert outcome == row.outcome


def test_the_guide_holds_the_table() -> None:
    assert table() in GUIDE.read_text(encoding="utf-8"), "python -m winnow.xpath.fragment prints the table"


@pytest.mark.parametrize("name", DEFAULT_LIMITS._fields)
def test_the_guide_holds_the_limits(name: str) -> None:
    assert f"| {name} | {getattr(DEFAULT_LIMITS, name):,} |" in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "value"), asdict(DEFAULT_EVALUATION).items())
def test_the_guide_holds_the_limits_of_time(name: str, value: float) -> None:
    assert f"| {name} | {value:,.0f} |" in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize("reason", Why)
def test_the_guide_holds_the_reasons(reason: str) -> None:
    assert f"`{reason}`" in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(winnow.xpath.__path__)])
def test_examples_in_the_code(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"winnow.xpath.{name}")).failed == 0
