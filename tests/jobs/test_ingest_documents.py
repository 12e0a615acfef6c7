"""Ingest of documents through Spark into Delta: nothing lost, nothing invented, the same tables however it is run."""

import datetime as dt
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checksums import Checksum, by_delta_rs, by_duckdb, by_spark
from winnow.generate.sample import Sample, write_sample
from winnow.jobs import ingest_documents
from winnow.tables import Lake

from .lakes import rows
from .slow import nightly

DATE = dt.date(2026, 11, 16)
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
    return write_sample(tmp_path_factory.mktemp("sample"), documents=300)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def ingest(spark: SparkSession, lake: Lake, *paths: Path, **options: str) -> dict[str, int]:
    config = ingest_documents.Config(lake=lake, paths=tuple(map(str, paths)), date=DATE, options=options)
    return ingest_documents.run(spark, config).counts


def content(lake: Lake) -> dict[str, Checksum]:
    return {name: by_delta_rs(f"{lake.location}/{name}") for name in ingest_documents.DERIVED}


@pytest.fixture(scope="module")
def expected(spark: SparkSession, sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(str(tmp_path_factory.mktemp("expected") / "lake"))
    assert ingest(spark, lake, sample.documents) == {
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
    return lake


def test_every_place_is_kept_and_the_bytes_are_the_originals(expected: Lake, sample: Sample) -> None:
    sources = rows(expected, "document_sources")
    loose = {Path(str(row["source"])).name: row["document_id"] for row in sources if "/loose/" in str(row["source"])}
    assert loose["same-bytes-again.xml"] == loose["utf8-00.xml"]
    contents = {row["document_id"]: row["content"] for row in rows(expected, "documents")}
    for name, document_id in loose.items():
        assert contents[document_id] == (sample.documents / "loose" / name).read_bytes()


def test_quarantine_says_where_and_why_and_keeps_the_bytes(expected: Lake, sample: Sample) -> None:
    refused = rows(expected, "quarantine")
    (cut_off,) = [row for row in refused if row["reason"] == "malformed"]
    assert str(cut_off["source"]).endswith("bad-cut-off.xml")
    assert min(cut_off["line"], cut_off["column"]) > 1  # type: ignore[type-var]
    assert cut_off["content"] == (sample.documents / "loose" / "bad-cut-off.xml").read_bytes()
    assert all(row["message"] for row in refused)


def test_all_readers_see_the_same(spark: SparkSession, expected: Lake) -> None:
    for table in ingest_documents.DERIVED:
        place = f"{expected.location}/{table}"
        assert by_spark(spark, place) == by_duckdb(place) == by_delta_rs(place)


def test_twice_changes_nothing(spark: SparkSession, expected: Lake, sample: Sample, tmp_path: Path) -> None:
    lake = Lake(str(shutil.copytree(expected.folder, tmp_path / "copy")))
    counts = ingest(spark, lake, sample.documents)
    assert (counts["stored"], counts["duplicates"]) == (0, 242)
    assert content(lake) == content(expected)


@nightly
def test_in_halves_is_the_same(spark: SparkSession, lake: Lake, expected: Lake, sample: Sample) -> None:
    ingest(spark, lake, sample.documents / "loose", sample.documents / "news.tar.gz")
    ingest(spark, lake, sample.documents / "*.zip", sample.documents / "loose")
    assert content(lake) == content(expected)


def killed_ingest(lake: Lake, sample: Sample, fault: str = "") -> "subprocess.Popen[bytes]":
    words = ["ingest", "documents", str(sample.documents), "--date", str(DATE)]
    command = [sys.executable, "-m", "winnow.cli.main", *words, "--lake", lake.location, "--master", "local[2]"]
    return subprocess.Popen(command, env={**os.environ, "WINNOW_FAULT": fault}, start_new_session=True)


@nightly
@pytest.mark.parametrize("fault", ["arrivals written", "documents written", "document_sources written"])
def test_killed_between_tables_and_run_again(
    spark: SparkSession, lake: Lake, expected: Lake, sample: Sample, fault: str
) -> None:
    assert killed_ingest(lake, sample, fault).wait(timeout=300) == -signal.SIGKILL
    ingest(spark, lake, sample.documents)
    assert content(lake) == content(expected)


@nightly
def test_killed_between_data_files_and_commit_and_run_again(
    spark: SparkSession, lake: Lake, expected: Lake, sample: Sample
) -> None:
    process = killed_ingest(lake, sample)
    while process.poll() is None and not list((lake.folder / "documents").rglob("*.parquet")):
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    ingest(spark, lake, sample.documents)
    assert content(lake) == content(expected)


@nightly
def test_records_and_limits(spark: SparkSession, lake: Lake, sample: Sample, tmp_path: Path) -> None:
    """Records of a container are documents; a bad one does not hide its neighbours; limits are the caller's."""
    counts = ingest(spark, lake, sample.container, recordTag="trade")
    assert (counts["read"], counts["stored"]) == (100, 100)
    records = [row["record"] for row in rows(lake, "document_sources")]
    assert sorted(map(int, map(str, records))) == list(range(1, 101))

    (tmp_path / "c.xml").write_bytes(b"<s>\n<r>1</r>\n<r><b></r>\n<r>3</r>\n<r>cut")
    counts = ingest(spark, lake, tmp_path / "c.xml", recordTag="r")
    assert (counts["stored"], counts["quarantined"]) == (2, 2)
    refused = [(row["record"], row["reason"], row["line"]) for row in rows(lake, "quarantine")]
    assert sorted(refused, key=str) == [(2, "malformed", 3), (4, "truncated_record", 5)]

    (tmp_path / "a.xml").write_bytes(b"<a>" + b"x" * 200 + b"</a>")
    assert ingest(spark, lake, tmp_path / "a.xml", maxBytes="100")["quarantined: oversized"] == 1


@nightly
@pytest.mark.corpora
def test_the_real_corpora(spark: SparkSession, lake: Lake, corpora: Path) -> None:
    ingest(spark, lake, corpora / "pubmed-5000.xml.gz", recordTag="PubmedArticle")
    ingest(spark, lake, corpora / "invoices-800.tar.gz", corpora / "malformed-feeds.tar.gz")
    assert by_delta_rs(f"{lake.location}/documents")[0] == 5800
    assert by_delta_rs(f"{lake.location}/quarantine")[0] == 178
