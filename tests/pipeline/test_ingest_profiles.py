"""A profile set is declarative: the table follows the file."""

import json
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession
from winnow.pipeline import ingest_profiles

from checksums import by_delta_rs, by_duckdb, by_spark, lake_checksums

pytestmark = pytest.mark.spark

A = {"profile_id": "a", "xpath": "//a"}
B = {"profile_id": "b", "xpath": "//p:b", "namespaces": {"p": "u", "q": "v"}, "destination": "x", "subscriber": "me"}
C = {"profile_id": "c", "xpath": "//c", "ordered": True, "valid_from": "2026-01-01"}


def ingest(lake: str, file: Path, *rows: Any, retire_missing: bool = False) -> dict[str, int]:
    file.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    config = ingest_profiles.Config(lake=lake, file=str(file), retire_missing=retire_missing)
    counts = ingest_profiles.run(config).counts
    return {name: count for name, count in counts.items() if count}


def profiles(lake: str) -> list[tuple[str, int, str, str]]:
    rows = deltalake.DeltaTable(f"{lake}/profiles").to_pyarrow_table().to_pylist()
    return sorted((r["profile_id"], r["profile_version"], r["xpath"], r["state"]) for r in rows)


def test_the_life_of_a_profile_set(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    first = (A, B, C, "{bad\n", A)
    assert ingest(lake, file, *first) == {
        "read": 5,
        "new": 3,
        "rejected": 2,
        "rejected: duplicate_id": 1,
        "rejected: not_json": 1,
    }
    before, version = lake_checksums(lake), deltalake.DeltaTable(f"{lake}/profiles").version()
    assert ingest(lake, file, *first)["unchanged"] == 3
    assert lake_checksums(lake) == before
    assert deltalake.DeltaTable(f"{lake}/profiles").version() == version

    # A changed meaning is a version; a changed destination is not; a rejected row is not missing; b is.
    changed = {**A, "xpath": "//aa"}
    counts = ingest(lake, file, changed, {"profile_id": "c", "xpath": 5}, retire_missing=True)
    assert counts == {"read": 2, "changed": 1, "retired": 1, "rejected": 1, "rejected: bad_field": 1}
    assert profiles(lake) == [
        ("a", 1, "//a", "superseded"),
        ("a", 2, "//aa", "active"),
        ("b", 1, "//p:b", "retired"),
        ("c", 1, "//c", "active"),
    ]
    assert by_delta_rs(f"{lake}/rejected_profiles")[0] == 1

    # Without --retire-missing absence means nothing; b comes back as it was, a gets its old text as a new version.
    assert ingest(lake, file, A, {**B, "destination": "y"}) == {"read": 2, "changed": 1, "revived": 1}
    assert profiles(lake)[2:] == [("a", 3, "//a", "active"), ("b", 1, "//p:b", "active"), ("c", 1, "//c", "active")]
    assert by_delta_rs(f"{lake}/rejected_profiles")[0] == 0
    assert ingest(lake, file, {**B, "destination": "z"}) == {"read": 1, "updated": 1}
    for table in ("profiles", "rejected_profiles"):
        location = f"{lake}/{table}"
        assert by_spark(spark, location) == by_delta_rs(location) == by_duckdb(location)


def test_nothing_is_retired_while_a_row_hides_its_id(lake: str, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    ingest(lake, file, A, B)
    broken = json.dumps(B)[:-9] + "\n"
    counts = ingest(lake, file, A, broken, retire_missing=True)
    assert counts["missing, not retired: rows without id"] == 1
    assert "retired" not in counts
    assert [state for *_, state in profiles(lake)] == ["active", "active"]
    assert ingest(lake, file, A, retire_missing=True)["retired"] == 1
