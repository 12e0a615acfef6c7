"""Suites are data: they load, they fit the contracts, and what is wrong with one is said."""

import pytest

from winnow.errors import DataError
from winnow.lake.contracts import table_names
from winnow.quality.suites import Severity, load_suites, parse_suite

HEAD = 'table = "matches"\n[[checks]]\nname = "n"\nseverity = "info"\nsays = "rows"\n'


def test_all_suites_load() -> None:
    suites = load_suites()
    assert set(suites) <= set(table_names())
    checks = [check for suite in suites.values() for check in suite.checks]
    assert len({check.name for check in checks}) == len(checks)
    assert all(check.says for check in checks)
    assert {check.severity for check in checks} == set(Severity)


def test_rules_name_the_columns_of_the_contract() -> None:
    rules = load_suites()["matches_staged"].rules()
    assert rules["values_not_null"].startswith('"document_id" IS NULL OR "source" IS NULL')
    assert "subscriber" not in rules["values_not_null"]
    assert rules["constraints_hold"] == "NOT (profile_version >= 1)"


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [("", "0"), ("min = 1", "at least 1"), ("max = 2.5", "at most 2.5"), ("min = 0.2\nmax = 5", "0.2 to 5")],
)
def test_bounds(bounds: str, expected: str) -> None:
    assert parse_suite(f'{HEAD}fact = "f"\n{bounds}').checks[0].expected == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD, "n needs either a fact or a rule"),
        (HEAD + 'fact = "f"\nunexpected = "x"', "n needs either a fact or a rule"),
        (HEAD.replace("info", "fatal") + 'fact = "f"', "'fatal' is not a valid Severity"),
        (HEAD + 'fact = "f"\nmaximum = 3', "maximum"),
        ('table = "matches"', "'checks'"),
        (HEAD + 'fact = "f"\n' + HEAD.split("\n", 1)[1] + 'fact = "g"', "one name"),
    ],
)
def test_what_is_wrong_with_a_suite_is_said(text: str, words: str) -> None:
    with pytest.raises(DataError, match="suite_invalid") as caught:
        parse_suite(text)
    assert words in str(caught.value)
