"""No document stops its date: what acceptance or a later step refuses is a row of quarantine, and the others go on."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from lakes import FIRST, declare, ingest, published, rows, run
from pyspark.sql import SparkSession

from winnow.cli.main import main
from winnow.errors import DataError
from winnow.ingest import scan
from winnow.ingest.accept import Accepted, Limits, Refused, accept
from winnow.ingest.expansion import DEFAULT_EXPANSION

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
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "documents"
    target.mkdir()
    for name, content in {**POISON, "good.xml": b"<a><b/></a>"}.items():
        (target / name).write_bytes(content)
    return target


def assert_goes_on(spark: SparkSession, lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declare(lake, tmp_path, PROFILES)
    run(spark, lake, FIRST)
    good = {str(row["document_id"]) for row in rows(lake, "document_sources") if "good" in str(row["source"])}
    assert published(lake) == {(document, profile) for document in good for profile in ("native", "hybrid")}
    refused = rows(lake, "quarantine")
    assert {Path(str(row["source"])).name for row in refused} == set(POISON)
    assert all(row["reason"] and row["message"] for row in refused)
    capsys.readouterr()
    assert main(["status", "--json", "--lake", lake]) == 0
    state = {row["table"]: row["rows"] for row in json.loads(capsys.readouterr().out)}
    assert state["quarantine"] == len(POISON)
    run(spark, lake, FIRST)
    assert len(rows(lake, "quarantine")) == len(POISON)


def test_poison_is_refused_at_the_door(
    spark: SparkSession, lake: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest(spark, lake, FIRST, folder)
    assert {len(str(row["document_id"])) for row in rows(lake, "documents")} == {64}
    assert len(rows(lake, "documents")) == 1
    assert_goes_on(spark, lake, tmp_path, capsys)


def test_what_an_older_acceptance_took_is_refused_by_the_encoder(
    spark: SparkSession, lake: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lenient(content: bytes, limits: Limits) -> Accepted | Refused:
        codec = "utf-16" if content.startswith(b"\xff\xfe") else "utf-8"
        verdict = accept(content, limits)
        return verdict if isinstance(verdict, Accepted) else Accepted(f"{len(content):064}", codec, "a", False)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(scan, "accept", lenient)
        output = scan._Output(
            scan.Scan(lake=lake, date=FIRST, record_tag=None, limits=Limits(), expansion=DEFAULT_EXPANSION, tell=print)
        )
        assert_stored(lake, output, folder)
    assert len(rows(lake, "documents")) == 1 + len(POISON)
    assert_goes_on(spark, lake, tmp_path, capsys)


def assert_stored(lake: str, output: scan._Output, folder: Path) -> None:
    """The files as an ingest would store them, in this process, where acceptance can be another."""
    from winnow.ingest.read import Item, Place
    from winnow.lake.store import adopt, ensure_tables

    ensure_tables(lake, scan.TABLES)
    for file in sorted(folder.iterdir()):
        output.add(Item(Place(str(file)), file.read_bytes()))
    output.flush()
    parts = output.close().parts
    for table in scan.TABLES:
        adopt(lake, table, [part for part in parts if part.table == table], {"ingest_date": FIRST}, {})


def test_any_other_error_in_a_worker_is_told_in_its_own_words(
    spark: SparkSession, lake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise KeyError("a column that is not there")

    def job(_: object) -> int:
        spark.range(1).mapInArrow(fail, "id long").collect()
        return 0

    monkeypatch.setattr("winnow.cli.status.run", job)
    assert main(["status", "--lake", lake]) == 1
    shown = capsys.readouterr().err.splitlines()[-1]
    assert shown.startswith("winnow: PythonException: KeyError: 'a column that is not there'")


@pytest.mark.parametrize("api", ["data frame", "rdd"])
def test_an_error_in_a_worker_keeps_its_code(
    spark: SparkSession, lake: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, api: str
) -> None:
    def fail(_: object) -> Iterator[pa.RecordBatch]:
        raise DataError("structure_broken", "path_documents does not explain the numbers", hint="encode it again")

    def job(_: object) -> int:
        if api == "rdd":
            spark.sparkContext.parallelize([1], 1).map(fail).collect()
        else:
            spark.range(1).mapInArrow(fail, "id long").collect()
        return 0

    monkeypatch.setattr("winnow.cli.status.run", job)
    assert main(["status", "--lake", lake]) == DataError.exit_code
    shown = capsys.readouterr().err
    assert shown.startswith("winnow: structure_broken: path_documents does not explain the numbers (encode it again)")
    assert "Py4J" not in shown
    assert "Traceback" not in shown
