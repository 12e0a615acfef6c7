"""The gate lets right answers pass, and stops each seeded defect before anything is published."""

import dataclasses
import json
import logging
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import html
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from quality.gate_lake import DAY, GateLake
from winnow.errors import DataError
from winnow.jobs import audit_matches, publish_matches
from winnow.jobs.publish_matches import staged_run
from winnow.quality import volumes
from winnow.quality.finding import counted
from winnow.quality.oracle import Agreement
from winnow.quality.suites import suite_files
from winnow.quality.validation import validate

pytestmark = pytest.mark.spark


def publish(spark: SparkSession, lake: GateLake) -> dict[str, int]:
    config = publish_matches.Config(lake=lake.tables.lake, date=DAY, run_id=lake.run_id, audited=True)
    return publish_matches.run(spark, config).counts


def first(rows: DataFrame) -> str:
    found: str = rows.agg(sf.min("document_id")).collect()[0][0]
    return found


def test_right_answers_pass_and_are_published(spark: SparkSession, ready: GateLake) -> None:
    with pytest.raises(DataError, match="was never audited"):
        publish(spark, ready)
    report = audit_matches.run(spark, ready.config)
    assert report.counts["met"] == report.counts["expectations"] > 30
    assert report.counts["warnings"] == 0
    documents = ready.tables.read("documents").count()
    assert report.counts["pairs evaluated again"] == documents * 16  # all pairs: "bad" is rejected
    assert report.seconds["matches_staged: oracle_agrees"] > 0
    results = ready.tables.read("quality_results").collect()
    assert len(results) == report.counts["expectations"]
    assert all(row["success"] and row["run_id"] == "r1" for row in results)
    assert publish(spark, ready)["published"] == ready.tables.read("matches").count() > 50


def test_a_failed_gate_publishes_nothing(
    spark: SparkSession, ready: GateLake, caplog: pytest.LogCaptureFixture
) -> None:
    """One false match; and pairs that were given up, of which people are told."""
    key = ready.keys()["captions"]
    is_match, pair = (
        f"array_contains(profiles, {key})",
        "named_struct('profile_key', 1L, 'reason', 'r', 'message', 'm')",
    )
    ready.restage(
        profiles=f"IF({is_match}, profiles, array_sort(array_append(profiles, {key}L)))",
        witnesses=f"IF({is_match}, witnesses, array_append(witnesses, '/a'))",
        undecided=f"IF(size(profiles) > 3, array({pair}), undecided)",
    )
    with caplog.at_level(logging.WARNING), pytest.raises(DataError, match="gate_failed") as caught:
        audit_matches.run(spark, ready.config)
    assert caught.value.exit_code == 65
    assert "- oracle_agrees (matches_staged)" in caught.value.message
    assert "profile captions: staged as a match, libxml2 says it does not match" in caught.value.message
    assert "pairs_decided" in caplog.text
    results = {row["check"]: row for row in ready.tables.read("quality_results").collect()}
    assert {name for name, row in results.items() if not row["success"]} == {"oracle_agrees", "pairs_decided"}
    assert results["oracle_agrees"]["unexpected"] > 1
    with pytest.raises(DataError, match="failed oracle_agrees"):
        publish(spark, ready)
    page = html.fromstring((ready.folder / "_reports" / "quality-2026-11-15-r1.html").read_text())
    assert not page.xpath("//script | //img | //iframe | //form | //@onclick")
    assert {str(address) for address in page.xpath("//@src | //@href")} == {"data:,", *(f"#{t}" for t in suite_files())}
    assert "profile captions: staged as a match, libxml2 says it does not match" in page.text_content()
    assert ready.tables.read("matches").count() == 0


def drop_row(rows: DataFrame) -> DataFrame:
    return rows.where(sf.col("document_id") != first(rows))


def repeat_row(rows: DataFrame) -> DataFrame:
    return rows.unionByName(rows.where(sf.col("document_id") == first(rows)))


def false_row(rows: DataFrame) -> DataFrame:
    other = rows.where(sf.col("document_id") == first(rows)).withColumn("document_id", sf.lit("0" * 64))
    return rows.unionByName(other)


def move_witness(rows: DataFrame) -> DataFrame:
    return rows.withColumn("witnesses", sf.transform("witnesses", lambda w: sf.concat(w, sf.lit("[2]"))))


def lose_matches(rows: DataFrame) -> DataFrame:
    empty = rows.withColumn("profiles", sf.expr("slice(profiles, 2, 100)"))
    empty = empty.withColumn("witnesses", sf.expr("slice(witnesses, 2, 100)"))
    return empty.withColumn("checksum", sf.xxhash64("document_id", "shard", "profiles", "witnesses"))


def strange_profile(rows: DataFrame) -> DataFrame:
    changed = rows.withColumn(
        "profiles",
        sf.expr("IF(size(profiles) > 0, array_prepend(slice(profiles, 2, 100), -9223372036854775807), profiles)"),
    )
    return changed.withColumn("checksum", sf.xxhash64("document_id", "shard", "profiles", "witnesses"))


def break_rules(rows: DataFrame) -> DataFrame:
    changes = {
        "candidates": "-1L",
        "witnesses": "array_append(witnesses, 'here')",
        "profiles": "reverse(profiles)",
        "undecided": "transform(profiles, p -> named_struct('profile_key', p, 'reason', 'r', 'message', 'm'))",
    }
    changed = rows.withColumns({name: sf.expr(rule) for name, rule in changes.items()})
    return changed.withColumn("checksum", sf.xxhash64("document_id", "shard", "profiles", "witnesses"))


RULES = {
    "candidates_counted", "witnesses_match_profiles", "witnesses_are_places", "profiles_in_order", "pairs_decided",
    "undecided_or_matched",
}  # fmt: skip


DEFECTS: list[tuple[Callable[[DataFrame], DataFrame], set[str]]] = [
    (drop_row, {"documents_answered", "oracle_agrees"}),
    (repeat_row, {"keys_unique", "documents_answered"}),
    (false_row, {"document_id_known", "documents_answered", "checksums_hold"}),
    (move_witness, {"checksums_hold"}),
    (lose_matches, {"oracle_agrees"}),
    (strange_profile, {"profiles_known", "profiles_asked", "publication_adds_every_pair", "oracle_agrees"}),
    (break_rules, RULES),
]


@pytest.mark.parametrize(("defect", "checks"), DEFECTS)
def test_wrong_staged_rows(ready: GateLake, defect: Callable[[DataFrame], DataFrame], checks: set[str]) -> None:
    ready.rewrite("matches_staged", defect)
    assert ready.failed("matches_staged") == checks


UNUSUAL = {"oracle_answers", "oracle_speaks", "volume_usual", "publication_repeats_no_key", "columns_fit_contract"}


def test_what_is_unusual_or_would_be_published_twice(ready: GateLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent oracle, far fewer matches than in the days before, pairs that are published already, a lost column."""
    ready.tables.create("matches")
    run = audit_matches.audited_run(ready.tables, staged_run(ready.tables, DAY, ready.run_id), sample=10, seed=0)
    run = dataclasses.replace(run, row={**run.row, "mode": "append"}, kept=run.published.limit(3))
    monkeypatch.setattr(volumes, "_history", lambda run: [1000.0, 1000.0, 1000.0])
    silent = Agreement(100, 0, 0, 0, 0, ())
    run.__dict__.update(file_findings=defaultdict(lambda: counted(0)), agreement=silent)
    suites = {"matches_staged": suite_files()["matches_staged"]}
    (found,) = validate(run, {"matches_staged": run.stage.drop("verified")}, suites)
    failed = {verdict.check: verdict for verdict in found.verdicts if not verdict.success}
    assert set(failed) == UNUSUAL
    assert failed["publication_repeats_no_key"].unexpected == 3
    assert "1e+03 in the last 3 intervals" in failed["volume_usual"].message
    assert "column verified (bigint) is missing" in failed["columns_fit_contract"].message


def test_an_expectation_is_added_by_editing_the_json(ready: GateLake, tmp_path: Path) -> None:
    """One that Great Expectations brings along, and a rule."""
    suite = json.loads(suite_files()["profiles"].read_text())
    short = {"column": "profile_id", "max_value": 8}
    suite["expectations"] += [
        {"type": "expect_column_value_lengths_to_be_between", "kwargs": short, "severity": "warning"},
        {"type": "expect_rows_to_satisfy", "kwargs": {"rule": "destination IS NOT NULL"}, "meta": {"check": "sent"}},
    ]
    (tmp_path / "suite.json").write_text(json.dumps(suite))
    ready.tables.create("matches")
    run = audit_matches.audited_run(ready.tables, staged_run(ready.tables, DAY, ready.run_id), sample=10, seed=0)
    run.__dict__["file_findings"] = defaultdict(lambda: counted(0))
    (found,) = validate(run, audit_matches.frames(run), {"profiles": tmp_path / "suite.json"})
    failed = {verdict.check: verdict for verdict in found.verdicts if not verdict.success}
    assert set(failed) == {"expect_column_value_lengths_to_be_between(profile_id)", "sent"}
    lengths = failed["expect_column_value_lengths_to_be_between(profile_id)"]
    assert (lengths.severity, lengths.unexpected) == ("warning", 13)
    assert failed["sent"].severity == "critical"
    assert "profile_id captions" in failed["sent"].message
