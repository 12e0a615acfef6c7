"""What people do with the results: maintain, backfill with a dry run. See tests/query, too."""

import datetime as dt
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checksums import lake_checksums
from winnow.cli.main import main
from winnow.errors import UsageError
from winnow.generate.sample import make_profiles
from winnow.jobs import maintain
from winnow.tables import Lake

from .lakes import DESKS, FIRST, SECOND, declare, ingest, published, reference, rows, run
from .slow import nightly

pytestmark = pytest.mark.spark


def test_run_metrics_have_funnel_and_seconds(published_lake: Lake) -> None:
    metrics = {(row["job"], row["metric"]): row["value"] for row in rows(published_lake, "run_metrics")}
    assert metrics["match_documents", "matches"] == len(rows(published_lake, "matches"))
    assert float(str(metrics["match_documents", "seconds: match"])) > 0
    assert ("join_paths", "new path branches") in metrics


def test_published_matches_equal_libxml2(published_lake: Lake) -> None:
    assert published(published_lake) == reference(published_lake) != set()


@nightly
def test_maintain_changes_files_not_rows(spark: SparkSession, lake_copy: Lake) -> None:
    before = lake_checksums(lake_copy.location)
    reports = {report.job: report.counts for report in maintain.run(spark, maintain.Config(lake=lake_copy))}
    assert all(counts["files"] <= counts["files before"] for counts in reports.values())
    assert {f"maintain {name}" for name in before} == reports.keys()
    assert lake_checksums(lake_copy.location) == before
    run(spark, lake_copy, FIRST, SECOND)  # and the pipeline goes on from there
    assert published(lake_copy) == reference(lake_copy)


def test_a_retention_that_running_jobs_need_is_refused_to_be_shortened(spark: SparkSession, lake_copy: Lake) -> None:
    with pytest.raises(UsageError, match="retention"):
        list(maintain.run(spark, maintain.Config(lake=lake_copy, retention_hours=1)))


@nightly
def test_encodings_are_understood_after_files_were_merged(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    for name, text in (("a", "<r><b>one</b><c/></r>"), ("d", "<r><x>t<b y='2'>w</b>o</x><b/></r>")):
        (tmp_path / f"{name}.xml").write_text(text)
        ingest(spark, lake, FIRST, tmp_path / f"{name}.xml")
        first: dict[str, object] = {"profile_id": "p", "xpath": "/r"}
        declare(spark, lake, tmp_path, [first])
        run(spark, lake, FIRST)
    (report,) = maintain.run(spark, maintain.Config(lake=lake, tables=("encoded_documents",)))
    assert report.counts["files before"] > report.counts["files"] == 1
    new = ["//b", "/r/x/b", "/r/c", "/r[b]/x", "//b[. = 'one']", "//x[. = 'two']", "//b[@y > 1]", "//b[@y > 2]"]
    declare(spark, lake, tmp_path, [first, *({"profile_id": xpath, "xpath": xpath} for xpath in new)])
    run(spark, lake, FIRST)
    assert published(lake) == reference(lake)
    assert len(published(lake)) == 10


@nightly
def test_dry_run_then_backfill(
    spark: SparkSession, lake_copy: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = published(lake_copy)
    made = [{**row, "destination": DESKS[k % 3]} for k, row in enumerate(make_profiles(30, seed=2))]
    declare(spark, lake_copy, tmp_path, [*made, {"profile_id": "new", "xpath": "/trade/price"}])
    arguments = ["backfill", "--from", str(FIRST - dt.timedelta(days=1)), "--to", str(SECOND)]
    arguments += ["--lake", lake_copy.location]
    assert main([*arguments, "--dry-run", "--json"]) == 0
    estimates = {row["date"]: row for row in json.loads(capsys.readouterr().out.splitlines()[-1])}
    assert published(lake_copy) == before
    assert estimates[str(FIRST)]["profiles"] == 1
    assert estimates[str(FIRST)]["pairs"] == estimates[str(FIRST)]["documents"] > 0
    assert main([*arguments, "--no-audit"]) == 0
    assert published(lake_copy) == reference(lake_copy)


def test_calls_that_cannot_be_meant(published_lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["run"], ["run", "--from", "2026-11-02"], ["run", "--from", "2026-11-02", "--to", "2026-11-01"]):
        assert main([*arguments, "--lake", published_lake.location]) == 2
        assert "--from" in capsys.readouterr().err
