"""Suites: what must hold before answers are published, as data beside the schemas."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from winnow.errors import DataError
from winnow.lake.contracts import Contract, load_contract, schemas_folder


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, kw_only=True)
class Check:
    """A fact and its bounds; or a rule that no row may satisfy, whose number of rows is then the fact."""

    name: str
    severity: Severity
    says: str  # what the fact counts
    fact: str = ""
    unexpected: str = ""
    min: float | None = None
    max: float | None = None
    next: str = ""  # what to do when it fails

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        return (0, 0) if self.min is None and self.max is None else (self.min, self.max)

    @property
    def expected(self) -> str:
        """For people.

        >>> Check(name="c", severity=Severity.INFO, says="rows", fact="f", min=0.2, max=5).expected
        '0.2 to 5'
        """
        low, high = self.bounds
        if low == high:
            return f"{low:g}"
        if high is None:
            return f"at least {low:g}"
        return f"at most {high:g}" if low is None else f"{low:g} to {high:g}"


class Suite(NamedTuple):
    table: str
    checks: tuple[Check, ...]

    def rules(self) -> dict[str, str]:
        """The rules over rows by the name of their fact, as SQL."""
        contract = load_contract(self.table)
        words = {"null": _null(contract), "broken": _broken(contract)}
        return {check.fact: check.unexpected.format_map(words) for check in self.checks if check.unexpected}


def _null(contract: Contract) -> str:
    required = [c.name for c in contract.columns if not c.nullable and c.name not in contract.partition_by]
    return " OR ".join(f'"{name}" IS NULL' for name in required)


def _broken(contract: Contract) -> str:
    return " OR ".join(f"NOT ({rule})" for rule in contract.constraints.values()) or "false"


def parse_suite(text: str) -> Suite:
    data = tomllib.loads(text)
    table = data.get("table", "")
    try:
        checks = tuple(_check(row) for row in data["checks"])
    except (KeyError, TypeError, ValueError) as error:
        raise DataError("suite_invalid", f"the suite of {table or 'some table'} cannot be read: {error}") from None
    if len({check.name for check in checks}) < len(checks):
        raise DataError("suite_invalid", f"two checks of the suite of {table} have one name")
    return Suite(table, checks)


def _check(row: dict[str, Any]) -> Check:
    if ("fact" in row) == ("unexpected" in row):
        raise ValueError(f"{row['name']} needs either a fact or a rule")
    return Check(**{"fact": row["name"], **row, "severity": Severity(row["severity"])})


@cache
def load_suites() -> Mapping[str, Suite]:
    """All suites by their table."""
    suites = [parse_suite(path.read_text()) for path in sorted(schemas_folder().glob("*/suite.toml"))]
    return {suite.table: suite for suite in suites}
