"""Suites are Great Expectations' own JSON; what a contract implies is in them, and what is wrong with one is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from quality.test_damage import COMMITTED, READ
from quality.test_gate import DEFECTS, UNUSUAL
from winnow.errors import DataError
from winnow.quality.suites import derived_expectations, load_suite, suite_files, with_derived, written
from winnow.tables import contract, table_names

ROWS = {"type": "expect_table_row_count_to_be_between", "kwargs": {"min_value": 1}}


def test_all_suites_load() -> None:
    files = suite_files()
    assert set(files) <= set(table_names())
    for table, path in files.items():
        suite = load_suite(path)
        assert suite.name == table
        checks = [expectation.meta["check"] for expectation in suite.expectations]
        assert len(set(checks)) == len(checks) > 2


@pytest.mark.parametrize("table", suite_files())
def test_suites_have_what_their_contracts_imply(table: str) -> None:
    """`python -m winnow.quality.suites` writes it."""
    text = suite_files()[table].read_text()
    assert text == written(with_derived(json.loads(text)))


def test_a_contract_implies_columns_key_sets_rules_and_references() -> None:
    found = {row["meta"]["check"]: row for row in derived_expectations(contract("profiles"))}
    assert found["keys_unique"]["kwargs"] == {"columns": ["profile_id", "profile_version"]}
    assert found["state_is_known"]["type"] == "expect_column_values_to_be_in_set"
    assert found["state_is_known"]["kwargs"]["value_set"] == ["active", "superseded", "retired"]
    assert found["profile_version_is_positive"]["kwargs"] == {"rule": "profile_version >= 1"}
    assert found["xpath_id_known"]["kwargs"] == {"column": "xpath_id", "table": "profile_patterns", "key": "xpath_id"}
    staged = {row["meta"]["check"]: row["kwargs"] for row in derived_expectations(contract("matches_staged"))}
    assert staged["profiles_known"] == {"column": "profiles", "table": "profiles", "key": "profile_key"}


def test_each_expectation_fails_in_some_test() -> None:
    """None that cannot fail: the defects that are seeded name them all."""
    seeded = {("matches_staged", check) for _, checks in DEFECTS for check in checks}
    seeded |= {("matches_staged", check) for check in UNUSUAL}
    seeded |= {(suite, check) for _, found in COMMITTED.values() for suite, checks in found.items() for check in checks}
    for table, path in suite_files().items():
        for row in json.loads(path.read_text())["expectations"]:
            is_of_files = row["type"] == "expect_files_to_be_as_committed" and row["kwargs"]["table"] in {
                *READ,
                "matches",
            }
            is_of_columns = row["type"] == "expect_columns_to_fit_contract"  # one test serves all tables
            assert is_of_files or is_of_columns or (table, row["meta"]["check"]) in seeded


def suite_of(folder: Path, *expectations: dict[str, Any], name: str = "profiles") -> Path:
    path = folder / "suite.json"
    path.write_text(json.dumps({"name": name, "expectations": list(expectations)}))
    return path


@pytest.mark.parametrize(
    ("expectation", "words"),
    [
        ({"type": "expect_nothing_of_the_kind", "kwargs": {}}, "expect_nothing_of_the_kind"),
        ({"type": "expect_key_to_be_unique", "kwargs": {}}, "columns"),
        ({"type": "expect_key_to_be_unique", "kwargs": {"columns": ["a"], "colunms": []}}, "colunms"),
        ({"type": "expect_key_to_be_unique", "kwargs": {"columns": ["a"]}, "severity": "fatal"}, "fatal"),
    ],
)
def test_what_is_wrong_with_a_suite_is_said(tmp_path: Path, expectation: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match="suite_invalid") as caught:
        load_suite(suite_of(tmp_path, ROWS, expectation))
    assert words in str(caught.value)


def test_text_that_is_no_suite_is_said(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text("{")
    with pytest.raises(DataError, match="suite_invalid"):
        load_suite(tmp_path / "suite.json")
