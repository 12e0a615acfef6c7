"""`winnow_xml`: every record of files, archives and containers is a row, with its bytes or with its reason."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jobs.slow import nightly
from winnow.ingest.accept import DEFAULT_LIMITS, Accepted, accept
from winnow.ingest.read import read_file
from winnow.ingest.sources import list_files
from winnow.spark import register

pytestmark = pytest.mark.spark


def load(spark: SparkSession, *paths: Path, **options: str) -> DataFrame:
    register(spark)
    return spark.read.format("winnow_xml").options(**options).load([str(path) for path in paths])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in" / "below").mkdir(parents=True)
    root = tmp_path / "in"
    (root / "a.xml").write_bytes(b"<a/>")
    (root / "below" / "b.xml.gz").write_bytes(gzip.compress(b"<b/>"))
    (root / "bad.xml").write_bytes(b"<a>\n<b></a>")
    with tarfile.open(root / "c.tar.gz", "w:gz") as archive:
        for name in ("c1.xml", "c2.xml"):
            info = tarfile.TarInfo(name)
            info.size = 4
            archive.addfile(info, io.BytesIO(b"<c/>"))
    with zipfile.ZipFile(root / "d.zip", "w") as packed:
        packed.writestr("d.xml", "<d>é</d>".encode("utf-16"))
    return root


@pytest.mark.cluster
def test_files_and_archives(spark: SparkSession, folder: Path) -> None:
    found = {(Path(row.source).name, row.member): row for row in load(spark, folder).collect()}
    assert set(found) == {
        *((name, "") for name in ("a.xml", "b.xml.gz", "bad.xml")),
        *(("c.tar.gz", name) for name in ("c1.xml", "c2.xml")),
        ("d.zip", "d.xml"),
    }
    assert found["d.zip", "d.xml"].encoding == "utf-16"
    assert (found["a.xml", ""].root, bytes(found["a.xml", ""].content)) == ("a", b"<a/>")
    bad = found["bad.xml", ""]
    assert (bad.document_id, bad.reason, bad.line) == (None, "malformed", 2)


def test_the_rows_are_those_of_the_reader(spark: SparkSession, folder: Path) -> None:
    items = [
        item
        for file in list_files([str(folder)])
        for item in read_file(file, record_tag=None, max_bytes=DEFAULT_LIMITS.max_bytes)
    ]
    verdicts = [item.refused or accept(item.content, DEFAULT_LIMITS) for item in items]
    expected = sorted(
        (item.place.source, item.place.member, verdict.document_id if isinstance(verdict, Accepted) else None)
        for item, verdict in zip(items, verdicts, strict=True)
    )
    assert sorted(map(tuple, load(spark, folder).select("source", "member", "document_id").collect())) == expected


def test_records_of_a_container(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "big.xml"
    file.write_text("<all>\n<r>1</r>\n<r><x></r>\n<r>3</r></all>")
    found = {row.record: row for row in load(spark, file, recordTag="r").collect()}
    assert [found[k].reason for k in (1, 2, 3)] == [None, "malformed", None]
    assert found[2].line == 3


@nightly
def test_a_large_container_is_judged_by_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    record = b"<r>" + b"<x>text</x>" * 100 + b"</r>\n"
    with file.open("wb") as out:
        out.write(b"<all>")
        for _ in range(300):
            out.write(record * 1000)
        out.write(b"</all>")
    rows = load(spark, file, recordTag="r")
    found = rows.groupBy(sf.spark_partition_id()).agg(sf.count_distinct("record").alias("records")).collect()
    assert len(found) == 2
    assert sum(row.records for row in found) == 300_000


def test_two_places_and_a_glob(spark: SparkSession, folder: Path) -> None:
    assert load(spark, folder / "a.xml", folder / "below" / "*.gz").count() == 2


def test_misspelt_options_and_missing_places_are_errors(spark: SparkSession, folder: Path) -> None:
    for path, options, words in (
        (folder, {"recordTg": "r"}, "bad_option: winnow_xml has no option 'recordtg'"),
        (folder / "gone", {}, "no_input"),
    ):
        with pytest.raises(PySparkException, match=words):
            load(spark, path, **options).count()
