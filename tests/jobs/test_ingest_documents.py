"""Ingest of documents through Spark into Delta: nothing lost, nothing invented, the same tables however it is run."""

import datetime as dt
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import deltalake
import pytest
from pyspark.sql import SparkSession

from checksums import by_delta_rs, by_duckdb, by_spark, lake_checksums
from winnow.generate.sample import Sample, write_sample
from winnow.ingest.accept import Limits
from winnow.jobs.report import RunReport
from winnow.pipeline import ingest_documents

DATE = dt.date(2026, 11, 16)
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return write_sample(tmp_path_factory.mktemp("sample"), documents=300)


def ingest(spark: SparkSession, lake: str, *paths: Path, **options: object) -> RunReport:
    settings = {"lake": lake, "paths": tuple(map(str, paths)), "date": DATE, **options}
    return ingest_documents.run(spark, ingest_documents.Config(**settings))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession, sample: Sample, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, object]]:
    lake = str(tmp_path_factory.mktemp("expected") / "lake")
    report = ingest(spark, lake, sample.documents)
    assert report.counts == {
        "files": 49,
        "read": 247,
        "stored": 241,
        "duplicates": 1,
        "quarantined": 5,
        "quarantined: doctype_entities": 1,
        "quarantined: empty": 1,
        "quarantined: malformed": 1,
        "quarantined: too_deep": 1,
        "quarantined: unsupported_encoding": 1,
    }
    return lake, dict(lake_checksums(lake))


def test_every_place_is_kept_and_the_bytes_are_the_originals(expected: tuple[str, object], sample: Sample) -> None:
    lake, _ = expected
    sources = deltalake.DeltaTable(f"{lake}/document_sources").to_pyarrow_table().to_pylist()
    loose = {Path(row["source"]).name: row["document_id"] for row in sources if "/loose/" in row["source"]}
    assert loose["same-bytes-again.xml"] == loose["utf8-00.xml"]
    content = {
        row["document_id"]: row["content"]
        for row in deltalake.DeltaTable(f"{lake}/documents").to_pyarrow_table().to_pylist()
    }
    for name, document_id in loose.items():
        assert content[document_id] == (sample.documents / "loose" / name).read_bytes()


def test_quarantine_says_where_and_why_and_keeps_the_bytes(expected: tuple[str, object], sample: Sample) -> None:
    rows = deltalake.DeltaTable(f"{expected[0]}/quarantine").to_pyarrow_table().to_pylist()
    cut_off = next(row for row in rows if row["reason"] == "malformed")
    assert cut_off["source"].endswith("bad-cut-off.xml")
    assert cut_off["line"] > 1
    assert cut_off["column"] > 1
    assert cut_off["content"] == (sample.documents / "loose" / "bad-cut-off.xml").read_bytes()
    assert all(row["message"] for row in rows)


def test_twice_changes_nothing_not_even_a_version(
    spark: SparkSession, expected: tuple[str, object], sample: Sample
) -> None:
    lake, checksums = expected
    versions = {name: deltalake.DeltaTable(f"{lake}/{name}").version() for name in ingest_documents.TABLES}
    report = ingest(spark, lake, sample.documents)
    assert (report.counts["stored"], report.counts["duplicates"]) == (0, 242)
    assert lake_checksums(lake) == checksums
    assert {name: deltalake.DeltaTable(f"{lake}/{name}").version() for name in ingest_documents.TABLES} == versions


def test_in_halves_is_the_same(spark: SparkSession, lake: str, expected: tuple[str, object], sample: Sample) -> None:
    ingest(spark, lake, sample.documents / "loose", sample.documents / "news.tar.gz")
    ingest(spark, lake, sample.documents / "*.zip", sample.documents / "loose")
    assert lake_checksums(lake) == expected[1]


def test_all_readers_see_the_same(spark: SparkSession, expected: tuple[str, object]) -> None:
    lake, checksums = expected
    for table in ingest_documents.TABLES:
        location = f"{lake}/{table}"
        assert by_spark(spark, location) == by_delta_rs(location) == by_duckdb(location)
        assert by_delta_rs(location) == checksums[table]  # type: ignore[index]


def command(lake: str, sample: Sample) -> list[str]:
    words = ["ingest", "documents", str(sample.documents), "--date", str(DATE), "--lake", lake, "--master", "local[2]"]
    return [sys.executable, "-m", "winnow.cli.main", *words]


def test_killed_between_tables_and_run_again(
    spark: SparkSession, lake: str, expected: tuple[str, object], sample: Sample
) -> None:
    killed = subprocess.run(command(lake, sample), env={**os.environ, "WINNOW_FAULT": "documents written"}, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert by_delta_rs(f"{lake}/documents")[0] == 241
    assert by_delta_rs(f"{lake}/document_sources")[0] == 0
    ingest(spark, lake, sample.documents)
    assert lake_checksums(lake) == expected[1]


def test_killed_between_data_files_and_commit_and_run_again(
    spark: SparkSession, lake: str, expected: tuple[str, object], sample: Sample
) -> None:
    process = subprocess.Popen(command(lake, sample), start_new_session=True)
    documents = Path(lake) / "documents"
    while process.poll() is None and not list(documents.rglob("*.parquet")):
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    ingest(spark, lake, sample.documents)
    assert lake_checksums(lake) == expected[1]


def test_records_of_a_container(spark: SparkSession, lake: str, sample: Sample) -> None:
    report = ingest(spark, lake, sample.container, record_tag="trade")
    assert (report.counts["read"], report.counts["stored"]) == (100, 100)
    rows = deltalake.DeltaTable(f"{lake}/document_sources").to_pyarrow_table().to_pylist()
    assert sorted(row["record"] for row in rows) == list(range(1, 101))


def test_a_bad_record_does_not_hide_its_neighbours(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "c.xml").write_bytes(b"<s>\n<r>1</r>\n<r><b></r>\n<r>3</r>\n<r>cut")
    report = ingest(spark, lake, tmp_path / "c.xml", record_tag="r")
    assert (report.counts["stored"], report.counts["quarantined"]) == (2, 2)
    rows = deltalake.DeltaTable(f"{lake}/quarantine").to_pyarrow_table().sort_by("record").to_pylist()
    assert [(r["record"], r["reason"], r["line"]) for r in rows] == [(2, "malformed", 3), (4, "truncated_record", 5)]


def test_limits_are_the_callers(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a>" + b"x" * 200 + b"</a>")
    report = ingest(spark, lake, tmp_path / "a.xml", limits=Limits(max_bytes=100))
    assert report.counts["quarantined: oversized"] == 1


@pytest.mark.corpora
def test_the_real_corpora(spark: SparkSession, lake: str, corpora: Path) -> None:
    ingest(spark, lake, corpora / "pubmed-5000.xml.gz", record_tag="PubmedArticle")
    ingest(spark, lake, corpora / "invoices-800.tar.gz", corpora / "malformed-feeds.tar.gz")
    assert by_delta_rs(f"{lake}/documents")[0] == 5800
    assert by_delta_rs(f"{lake}/quarantine")[0] == 178
