"""What was refused is judged again from the bytes that were kept, and leaves quarantine when it is a document."""

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.lakes import declare, ingest, published, reference, rows, run
from jobs.slow import nightly
from winnow.cli.main import main
from winnow.jobs import ingest_again, ingest_documents
from winnow.tables import Lake

pytestmark = pytest.mark.spark
DATE = dt.date(2026, 11, 16)


@pytest.fixture
def refused(spark: SparkSession, lake: str, tmp_path: Path) -> Lake:
    """A lake with a document, and three that were refused: two for their number of nodes, one for good."""
    folder = tmp_path / "in"
    (folder / "a").mkdir(parents=True)
    (folder / "small.xml").write_text("<r><a/></r>")
    (folder / "wide.xml").write_text(f"<r>{'<a/>' * 30}</r>")
    (folder / "a" / "wider.xml").write_text(f"<r>{'<a/>' * 40}</r>")
    (folder / "broken.xml").write_text("<r>")
    own = Lake(lake)
    options = {"maxNodes": "20"}
    ingest_documents.run(spark, ingest_documents.Config(lake=own, paths=(str(folder),), date=DATE, options=options))
    assert len(rows(own, "quarantine")) == 3
    for file in folder.rglob("*.xml"):
        file.unlink()  # the bytes were kept
    return own


def test_by_source_reason_and_date(
    spark: SparkSession, refused: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--lake", refused.location]) == 0
    told = capsys.readouterr().out
    assert "waiting: 3 records in quarantine: 2 too_many_nodes, 1 malformed\n  `winnow ingest --again" in told
    again = ingest_again.Config(lake=refused, source=str(tmp_path / "in" / "a"))
    report = ingest_again.run(spark, again)
    assert report.counts == {
        "refused before": 1,
        "accepted": 1,
        "stored": 1,
        "settled": 1,
        "still refused": 0,
        "without bytes": 0,
    }
    words = ["ingest", "--again", "--lake", refused.location]
    assert main([*words, "--date", "2026-11-17"]) == 0
    assert main([*words, "--reason", "too_many_nodes", "--max-nodes", "20"]) == 0
    assert len(rows(refused, "quarantine")) == 2
    assert main(words) == 0
    (left,) = rows(refused, "quarantine")
    assert left["reason"] == "malformed"
    stored = rows(refused, "documents")
    assert {Path(str(row["source"])).name for row in rows(refused, "document_sources")} == {
        "small.xml",
        "wide.xml",
        "wider.xml",
    }
    assert {row["ingest_date"] for row in stored} == {DATE}
    assert not rows(refused, "arrivals")
    before = {name: rows(refused, name) for name in ("documents", "document_sources", "quarantine")}
    assert ingest_again.run(spark, ingest_again.Config(lake=refused)).counts["stored"] == 0
    assert {name: rows(refused, name) for name in before} == before


@nightly
def test_what_came_by_itself_is_settled(spark: SparkSession, refused: Lake, tmp_path: Path) -> None:
    (tmp_path / "in" / "wide.xml").write_text(f"<r>{'<a/>' * 30}</r>")
    ingest(spark, refused, DATE, tmp_path / "in" / "wide.xml")
    again = ingest_again.Config(lake=refused, max_nodes=20)
    assert ingest_again.run(spark, again).counts["settled"] == 1
    assert len(rows(refused, "quarantine")) == 2


@nightly
def test_the_next_run_asks_what_came_again(spark: SparkSession, refused: Lake, tmp_path: Path) -> None:
    declare(spark, refused, tmp_path, [{"profile_id": "p", "xpath": "/r/a"}])
    run(spark, refused, DATE)
    ingest_again.run(spark, ingest_again.Config(lake=refused))
    run(spark, refused, DATE)
    assert published(refused) == reference(refused)
    assert len(published(refused)) == 3


def test_ingest_of_nothing_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ingest"]) == 2
    assert "ingest what? (`winnow ingest documents PATH --date D`" in capsys.readouterr().err
