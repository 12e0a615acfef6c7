"""The pipeline's answers equal libxml2's, pair by pair, however it is run."""

import datetime as dt
import json
from pathlib import Path

import deltalake
import pytest
from lxml import etree
from pyspark.sql import SparkSession

from tables import by_delta_rs, by_duckdb, by_spark
from winnow.generate.sample import make_profiles, write_sample
from winnow.pipeline import ingest_documents, ingest_profiles, match_documents, publish_matches

pytestmark = pytest.mark.spark

FIRST, SECOND = dt.date(2026, 11, 15), dt.date(2026, 11, 16)
Pairs = set[tuple[str, str]]


def run(spark: SparkSession, lake: str, date: dt.date, engine: str = "boxpath") -> Pairs:
    config = match_documents.Config(lake=lake, date=date, run_id="test", engine=engine)
    staged = match_documents.run(spark, config).counts["staged version"]
    publish_matches.run(publish_matches.Config(lake=lake, date=date, staged_version=staged, run_id="test"))
    return published(lake, date)


def rows(lake: str, table: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = deltalake.DeltaTable(f"{lake}/{table}").to_pyarrow_table().to_pylist()
    return found


def published(lake: str, date: dt.date) -> Pairs:
    found = [(str(r["document_id"]), str(r["profile_id"])) for r in rows(lake, "matches") if r["match_date"] == date]
    assert len(found) == len(set(found))
    return set(found)


def reference(lake: str, date: dt.date) -> Pairs:
    trees = {
        r["document_id"]: etree.fromstring(r["content"]) for r in rows(lake, "documents") if r["ingest_date"] == date
    }
    pairs = set()
    for profile in rows(lake, "profiles"):
        if profile["state"] == "active" and profile["profile_id"] != "bad":
            xpath = etree.XPath(f"boolean({profile['xpath']})", namespaces=dict(profile["namespaces"]) or None)
            pairs |= {(str(name), str(profile["profile_id"])) for name, tree in trees.items() if xpath(tree)}
    return pairs


def declare(lake: str, file: Path, profiles: list[dict[str, object]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in profiles))
    ingest_profiles.run(ingest_profiles.Config(lake=lake, file=str(file), retire_missing=True))


def test_two_days_and_changing_profiles(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    sample = write_sample(tmp_path / "sample", documents=90)
    profiles = [*make_profiles(60, seed=1), {"profile_id": "bad", "xpath": "//a["}]
    declare(lake, tmp_path / "p.jsonl", profiles)
    for date, path, tag in ((FIRST, sample.documents, None), (SECOND, sample.container, "trade")):
        config = ingest_documents.Config(lake=lake, paths=(str(path),), date=date, record_tag=tag)
        ingest_documents.run(spark, config)

    first = run(spark, lake, FIRST)
    assert first == reference(lake, FIRST)
    assert len(first) > 100
    assert run(spark, lake, SECOND) == reference(lake, SECOND) != set()
    assert published(lake, FIRST) == first  # another date is another partition
    before = by_delta_rs(f"{lake}/matches")

    # Again, out of order, in one task, by another engine: the same rows.
    assert run(spark, lake, FIRST) == first
    assert by_delta_rs(f"{lake}/matches") == before
    assert run(spark, lake, SECOND, engine="b-boxfilter") == reference(lake, SECOND)
    assert by_delta_rs(f"{lake}/matches") == before
    assert by_spark(spark, f"{lake}/matches") == by_duckdb(f"{lake}/matches") == before

    # New, changed and retired profiles; then none at all: an empty result still replaces.
    declare(
        lake, tmp_path / "p.jsonl", [{**profiles[0], "xpath": "//p"}, *profiles[5:], {"profile_id": "n", "xpath": "/*"}]
    )
    assert run(spark, lake, FIRST) == reference(lake, FIRST) != first
    declare(lake, tmp_path / "p.jsonl", [{"profile_id": "n", "xpath": "//nothing"}])
    assert run(spark, lake, FIRST) == set()
    assert published(lake, SECOND) != set()


def test_validity_decides_by_date(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    declare(
        lake,
        tmp_path / "p.jsonl",
        [
            {"profile_id": "until", "xpath": "/a", "valid_to": str(FIRST)},
            {"profile_id": "from", "xpath": "/a", "valid_from": str(FIRST)},
            {"profile_id": "later", "xpath": "/a", "valid_from": str(SECOND)},
        ],
    )
    ingest_documents.run(spark, ingest_documents.Config(lake=lake, paths=(str(tmp_path / "a.xml"),), date=FIRST))
    assert {profile for _, profile in run(spark, lake, FIRST)} == {"from"}
    row = rows(lake, "matches")[0]
    assert (row["source"], row["witness"], row["profile_version"]) == (str(tmp_path / "a.xml"), "/a", 1)
