"""Suites: what must hold of a table, as JSON of Great Expectations beside the table's contract.

Expectations that the contract implies have `"derived": true` in their meta and are written by
`python -m winnow.quality.suites`; all others are written by hand, and stay as they are.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.errors import DataError
from winnow.tables.contract import Contract, contract, schemas_folder, table_names

if TYPE_CHECKING:
    from great_expectations import ExpectationSuite

Json = dict[str, Any]
_IN_SET = re.compile(r"(\w+) in \(('[^()]*')\)")
_REFERENCE = re.compile(r"\bsee (\w+)\b")
_ARRAY_REFERENCE = re.compile(r"\bby (\w+)\.(\w+)\b")


def suite_files() -> dict[str, Path]:
    """Returns the suites by their table."""
    return {path.parent.name: path for path in sorted(schemas_folder().glob("*/suite.json"))}


def load_suite(path: Path) -> "ExpectationSuite":
    """Returns a suite as Great Expectations reads it.

    Raises:
        DataError: it cannot be read, or names an expectation that does not exist.
    """
    import great_expectations as gx
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    import winnow.quality.expectations  # noqa: F401  # makes the own ones known

    try:
        given = json.loads(path.read_text())
        for row in given["expectations"]:  # a suite logs what it cannot make sense of, and leaves it out
            ExpectationConfiguration(**row).to_domain_obj()
        suite = gx.ExpectationSuite(**given)
    except Exception as error:
        raise DataError("suite_invalid", f"{path} is no suite: {error}", hint="see the other suites") from error
    return suite


def derived_expectations(of: Contract) -> Iterator[Json]:
    """Yields what a contract implies: its columns, key, constraints and references.

    That required columns hold no null is looked up in the data files themselves: Spark takes the table's word for it.
    """
    yield _derived("columns_fit_contract", "expect_columns_to_fit_contract", table=of.table)
    yield _derived("keys_unique", "expect_key_to_be_unique", columns=list(of.key))
    for name, rule in (of.constraints or {}).items():
        if (found := _IN_SET.fullmatch(rule)) and found[1] in of.names:
            values = re.findall(r"'([^']*)'", found[2])
            yield _derived(name, "expect_column_values_to_be_in_set", column=found[1], value_set=values)
        else:
            yield _derived(name, "expect_rows_to_satisfy", rule=rule)
    for column in of.columns:
        if reference := _reference(of, column.name, column.description):
            table, key = reference
            yield _derived(
                f"{column.name}_known", "expect_values_to_be_known", column=column.name, table=table, key=key
            )


def _reference(of: Contract, column: str, description: str) -> tuple[str, str] | None:
    if found := _ARRAY_REFERENCE.search(description):
        return found[1], found[2]
    found = _REFERENCE.search(description)
    if found and found[1] != of.table and found[1] in table_names() and contract(found[1]).key == (column,):
        return found[1], column
    return None


def _derived(check: str, kind: str, **kwargs: Any) -> Json:
    return {"type": kind, "kwargs": kwargs, "severity": "critical", "meta": {"check": check, "derived": True}}


def with_derived(suite: Json) -> Json:
    """Returns a suite whose derived expectations are those of its table's contract."""
    own = [row for row in suite["expectations"] if not row.get("meta", {}).get("derived")]
    return {**suite, "expectations": [*derived_expectations(contract(suite["name"])), *own]}


def written(suite: Json) -> str:
    """Returns the text of a suite, an expectation a line."""
    head = {name: value for name, value in suite.items() if name != "expectations"}
    rows = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in suite["expectations"])
    return f'{json.dumps(head, ensure_ascii=False, indent=2)[:-2]},\n  "expectations": [\n{rows}\n  ]\n}}\n'


if __name__ == "__main__":
    for path in suite_files().values():
        path.write_text(written(with_derived(json.loads(path.read_text()))))
