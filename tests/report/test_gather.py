"""The page of a date is about this date: every number of it is in the tables, whatever else its run has done."""

import shutil
from pathlib import Path

import pytest
from lxml import html
from pyspark.sql import SparkSession

from jobs.lakes import FIRST, SECOND, rows
from winnow.errors import DataError
from winnow.jobs import match_documents
from winnow.jobs.report import RunReport
from winnow.jobs.run_metrics import write_run_metrics
from winnow.report.facts import SchedulerFacts
from winnow.report.gather import gather
from winnow.report.write import write, write_index
from winnow.tables import Lake

pytestmark = pytest.mark.spark


def count(lake: Lake, table: str, column: str, date: object) -> int:
    return sum(row[column] == date for row in rows(lake, table))


@pytest.mark.parametrize("date", [FIRST, SECOND])
def test_one_run_over_two_dates_has_the_numbers_of_each(published_lake: Lake, date: object) -> None:
    facts = gather(published_lake, date)  # type: ignore[arg-type]
    matches = count(published_lake, "matches", "match_date", date)
    headline = {bar.label: bar.value for bar in facts.headline}
    assert headline["matches"] == matches
    assert headline["documents"] == count(published_lake, "documents", "ingest_date", date)
    assert headline["quarantined"] == count(published_lake, "quarantine", "ingest_date", date)
    funnel = {bar.label: bar.value for bar in facts.pruning}
    assert funnel["matches of this run"] == matches
    active = sum(row["state"] == "active" for row in rows(published_lake, "profiles"))
    assert funnel["pairs routed to an index"] == funnel["documents × profiles asked"] == headline["documents"] * active
    assert funnel["pairs routed to an index"] > funnel["candidates"] >= funnel["matches of this run"]
    assert {bar.label: bar.value for bar in facts.funnel}["asked in this run"] == headline["documents"]
    assert facts.run
    assert facts.run.dates == [FIRST, SECOND]
    assert any("1 other dates" in sentence for sentence in facts.sentences)


def test_a_date_without_a_run_has_a_page(lake_copy: Lake) -> None:
    shutil.rmtree(lake_copy.folder / "runs")
    shutil.rmtree(lake_copy.folder / "run_metrics")
    assert gather(lake_copy, FIRST).verdict == "not answered"
    page = Path(write(lake_copy, FIRST)).read_text()
    assert "No run has answered" in page


def test_nothing_is_known_of_a_date_without_anything(published_lake: Lake) -> None:
    with pytest.raises(DataError, match="no_runs"):
        gather(published_lake, FIRST.replace(year=1999))


def test_what_is_staged_is_told_from_what_readers_see(spark: SparkSession, lake_copy: Lake) -> None:
    before = gather(lake_copy, FIRST)
    config = match_documents.Config(lake=lake_copy, dates=(FIRST,), run_id="again", full=True)
    match_documents.run(spark, config)
    facts = gather(lake_copy, FIRST)
    assert facts.run
    assert facts.run.run_id == "again"
    assert facts.verdict == "not audited"
    assert before.run
    words = " ".join(facts.sentences)
    assert "run again has staged is not published" in words
    assert before.run.run_id in words


def test_every_page_that_is_linked_is_there(lake_copy: Lake) -> None:
    pages = [Path(write(lake_copy, date)) for date in (FIRST, SECOND)]
    index = Path(write_index(lake_copy))
    for page in (*pages, index):
        for name in html.fromstring(page.read_text()).xpath("//a/@href"):
            assert (page.parent / name).is_file(), name
    listed = html.fromstring(index.read_text())
    assert listed.xpath("//td[1]/a/text()") == [str(SECOND), str(FIRST)]
    shown = [int(text.replace(",", "")) for text in listed.xpath("//td[6]/text()")]
    assert shown == [count(lake_copy, "matches", "match_date", date) for date in (SECOND, FIRST)]
    refused = html.fromstring((index.parent / f"quarantine-{FIRST}.html").read_text())
    assert len(refused.xpath("//tr")) - 1 == count(lake_copy, "quarantine", "ingest_date", FIRST) > 0


def test_metrics_of_tasks_of_one_dag_run_are_told_together(spark: SparkSession, lake_copy: Lake) -> None:
    tables = lake_copy.open(spark)
    for name, seconds in (
        ("scheduled__1-0123456789ab", 2.0),
        ("scheduled__1-ba9876543210", 3.0),
        ("scheduled__10-0123456789ab", 9.0),
    ):
        write_run_metrics(tables, name, FIRST, [RunReport("encode_documents", seconds={"encode": seconds})])
    facts = gather(lake_copy, FIRST, scheduler=SchedulerFacts("scheduled__1"))
    told = {bar.label: bar.value for bar in facts.seconds}

    own = {bar.label: bar.value for bar in gather(lake_copy, FIRST).seconds}
    assert told["encode_documents · encode"] == pytest.approx(own.get("encode_documents · encode", 0) + 5.0)
