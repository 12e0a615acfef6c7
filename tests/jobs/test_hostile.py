"""No document stops its date: what acceptance or a later step refuses is a row of quarantine, and the others go on."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from winnow.cli.main import main
from winnow.errors import DataError
from winnow.tables import Lake, contract

from .lakes import FIRST, declare, ingest, published, rows, run
from .slow import nightly

pytestmark = pytest.mark.spark

POISON = {
    "percent.xml": b"<!DOCTYPE a [%p;]><a/>",
    "system.xml": b'<!DOCTYPE a SYSTEM "<!--"><a>&f;</a><!-- -->',
    "odd.xml": "<?xml version='1.0' encoding='UTF-16'?><a/>".encode("utf-16") + b"\0",
}
PROFILES: list[dict[str, object]] = [
    {"profile_id": "native", "xpath": "/a/b"},
    {"profile_id": "hybrid", "xpath": "count(//zz) = 0"},
]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def write(folder: Path, contents: dict[str, bytes]) -> Path:
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def assert_goes_on(spark: SparkSession, lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(spark, lake, tmp_path, PROFILES)
    run(spark, lake, FIRST)
    good = {str(row["document_id"]) for row in rows(lake, "document_sources") if "good" in str(row["source"])}
    assert published(lake) == {(document, profile) for document in good for profile in ("native", "hybrid")}
    refused = rows(lake, "quarantine")
    assert {Path(str(row["source"])).name for row in refused} == set(POISON)
    assert all(row["reason"] and row["message"] for row in refused)
    capsys.readouterr()
    assert main(["status", "--json", "--lake", lake.location]) == 0
    state = {row["table"]: row["rows"] for row in json.loads(capsys.readouterr().out)}
    assert state["quarantine"] == len(POISON)
    assert run(spark, lake, FIRST)["match_documents"].counts["to publish"] == 0
    assert len(rows(lake, "quarantine")) == len(POISON)


@nightly
def test_poison_is_refused_at_the_door(
    spark: SparkSession, lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(spark, lake, FIRST, write(tmp_path / "in", {**POISON, "good.xml": b"<a><b/></a>"}))
    assert [len(str(row["document_id"])) for row in rows(lake, "documents")] == [64]
    assert_goes_on(spark, lake, tmp_path, capsys)


@nightly
def test_what_an_older_acceptance_took_is_refused_by_the_encoder(
    spark: SparkSession, lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(spark, lake, FIRST, write(tmp_path / "in", {"good.xml": b"<a><b/></a>"}))
    tables = lake.open(spark)
    documents, places = [], []
    for name, content in POISON.items():
        document_id = hashlib.sha256(content).hexdigest()
        codec = "utf-16" if content.startswith(b"\xff\xfe") else "utf-8"
        documents.append((document_id, bytearray(content), len(content), codec, "a", FIRST))
        places.append((document_id, str(tmp_path / name), "", 0, FIRST))
    for table, own in (("documents", documents), ("document_sources", places)):
        tables.append_new(table, spark.createDataFrame(own, contract(table).row_type))
    assert len(rows(lake, "documents")) == 1 + len(POISON)
    assert_goes_on(spark, lake, tmp_path, capsys)
    assert len(rows(lake, "documents")) == 1


def fail_in_worker(monkeypatch: pytest.MonkeyPatch, spark: SparkSession, kind: type[Exception], *words: str) -> None:
    """Makes `winnow status` a job that fails like this in a worker."""

    def fail(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise kind(*words)

    def job(_: object) -> int:
        spark.range(1).mapInArrow(fail, "id long").collect()
        return 0

    monkeypatch.setattr("winnow.cli.status.run", job)


def test_any_other_error_in_a_worker_is_told_in_its_own_words(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_in_worker(monkeypatch, spark, KeyError, "a column that is not there")
    assert main(["status"]) == 1
    shown = capsys.readouterr().err.splitlines()[-1]
    assert shown.startswith("winnow: PythonException: KeyError: 'a column that is not there'")


def test_an_error_in_a_worker_keeps_its_code(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_in_worker(monkeypatch, spark, DataError, "structure_broken", "the row does not explain itself")
    assert main(["status"]) == DataError.exit_code
    shown = capsys.readouterr().err
    assert shown.startswith("winnow: structure_broken: the row does not explain itself")
    assert "Py4J" not in shown
    assert "Traceback" not in shown
