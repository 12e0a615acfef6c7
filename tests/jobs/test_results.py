"""What people do with the results: maintain, backfill with a dry run. See test_query and test_deliver, too."""

import datetime as dt
import json
from pathlib import Path

import pytest
from lakes import FIRST, SECOND, declare, ingest, ingest_two_dates, published, reference, rows, run
from pyspark.sql import SparkSession

from checksums import lake_checksums
from winnow.cli.main import main
from winnow.errors import UsageError
from winnow.generate.sample import make_profiles
from winnow.lake.store import state
from winnow.pipeline import maintain

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("results")
    ingest_two_dates(spark, str(folder / "lake"), folder, documents=40)
    made = [{**row, "destination": f"desk/{k % 3}"} for k, row in enumerate(make_profiles(30, seed=2))]
    declare(str(folder / "lake"), folder, made)
    run(spark, str(folder / "lake"), FIRST, SECOND)
    return str(folder / "lake")


def test_run_metrics_have_funnel_and_seconds(lake: str) -> None:
    metrics = {(row["job"], row["metric"]): row["value"] for row in rows(lake, "run_metrics")}
    assert metrics["match_documents", "matches"] == len(rows(lake, "matches"))
    assert metrics["match_documents", "seconds: match"] > 0
    assert ("join_paths", "new path branches") in metrics


def test_encodings_are_understood_after_files_were_merged(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    for name, text in (("a", "<r><b>one</b><c/></r>"), ("d", "<r><x>t<b y='2'>w</b>o</x><b/></r>")):
        (tmp_path / f"{name}.xml").write_text(text)
        ingest(spark, lake, FIRST, tmp_path / f"{name}.xml")
    first = {"profile_id": "p", "xpath": "/r"}
    declare(lake, tmp_path, [first])
    run(spark, lake, FIRST)
    assert len({row["part"] for row in rows(lake, "encoded_documents")}) == 2  # each with numbers of its own
    tables = ("encoded_documents", "path_documents")
    reports = maintain.run(maintain.Config(lake=lake, run_id="t", tables=tables))
    assert [report.counts["files"] for report in reports] == [1, 1]
    new = ["//b", "/r/x/b", "/r/c", "/r[b]/x", "//b[. = 'one']", "//x[. = 'two']", "//b[@y > 1]", "//b[@y > 2]"]
    declare(lake, tmp_path, [first, *({"profile_id": xpath, "xpath": xpath} for xpath in new)])
    run(spark, lake, FIRST)
    assert published(lake) == reference(lake)
    assert len(published(lake)) == 10


def test_maintain_changes_files_not_rows(spark: SparkSession, lake: str) -> None:
    before, files = lake_checksums(lake), state(lake, "envelope_nodes")
    reports = {report.job: report.counts for report in maintain.run(maintain.Config(lake=lake, run_id="t"))}
    assert reports["maintain matches"]["rows"] == len(rows(lake, "matches"))
    assert lake_checksums(lake) == before
    assert files is not None
    assert reports["maintain envelope_nodes"]["files"] <= files.files
    run(spark, lake, FIRST, SECOND)  # and the pipeline goes on from there
    assert published(lake) == reference(lake)
    with pytest.raises(UsageError, match="retention"):
        list(maintain.run(maintain.Config(lake=lake, run_id="t", retention_hours=1)))


def test_dry_run_then_backfill(
    spark: SparkSession, lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = published(lake)
    made = [{**row, "destination": f"desk/{k % 3}"} for k, row in enumerate(make_profiles(30, seed=2))]
    declare(lake, tmp_path, [*made, {"profile_id": "new", "xpath": "/trade/price"}])
    arguments = ["backfill", "--from", str(FIRST - dt.timedelta(days=1)), "--to", str(SECOND), "--lake", lake]
    assert main([*arguments, "--dry-run", "--json"]) == 0
    estimates = {row["date"]: row for row in json.loads(capsys.readouterr().out.splitlines()[-1])}
    assert published(lake) == before
    assert estimates[str(FIRST)]["profiles"] == 1
    assert estimates[str(FIRST)]["pairs"] == estimates[str(FIRST)]["documents"]
    assert estimates[str(FIRST)]["candidates"] <= estimates[str(FIRST)]["documents"]
    assert main([*arguments, "--no-audit"]) == 0
    assert published(lake) == reference(lake)


def test_calls_that_cannot_be_meant(lake: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["run"], ["run", "--from", "2026-11-02"], ["run", "--from", "2026-11-02", "--to", "2026-11-01"]):
        assert main([*arguments, "--lake", lake]) == 2
        assert "--from" in capsys.readouterr().err
