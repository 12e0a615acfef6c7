"""Documents and indexes in S3, which workers reach with options of their own; the server is on loopback."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from pyspark.sql import SparkSession

from winnow.spark import build_index, load_index, match, register

from .conftest import Frames
from .servers import s3_server

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with s3_server(tmp_path_factory.mktemp("s3")) as address:
        keys = {"access_key": "someone", "secret_key": "secret", "region": "us-east-1"}
        yield {**keys, "endpoint_override": address, "scheme": "http"}


@pytest.mark.cluster
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_an_index_in_s3(
    spark: SparkSession, documents_of: Frames, profiles_of: Frames, options: dict[str, str], scheme: str
) -> None:
    place = f"{scheme}://landing/indexes/{scheme}"
    build_index(profiles_of(p="/a", q="//b"), place, partitions=2, filesystem_options=options)
    index = load_index(place, filesystem_options=options, spark=spark)
    found = match(documents_of(x="<a><b/></a>", y="<c/>"), index).select("document_id", "profile_id")
    assert sorted(map(tuple, found.collect())) == [("x", "p"), ("x", "q")]


def test_files_in_s3(spark: SparkSession, options: dict[str, str]) -> None:
    register(spark)
    bucket = pafs.S3FileSystem(**options)
    for name, content in {
        "in/a.xml": b"<a/>",
        "in/below/b.xml.gz": gzip.compress(b"<b/>"),
        "in/bad.xml": b"<a>",
        "in/many.xml": b"<all><r>1</r><r>2</r></all>",
    }.items():
        with bucket.open_output_stream(f"landing/{name}", compression=None) as out:
            out.write(content)

    def sources(*places: str, **more: str) -> list[tuple[str, str | None]]:
        reader = spark.read.format("winnow_xml").options(filesystemOptions=json.dumps(options), **more)
        rows = reader.load([f"s3://landing/{place}" for place in places]).collect()
        return sorted((row.source.removeprefix("s3://landing/in/"), row.reason) for row in rows)

    every = [("a.xml", None), ("bad.xml", "malformed"), ("below/b.xml.gz", None), ("many.xml", None)]
    assert sources("in") == every
    assert sources("in/*.xml") == [row for row in every if "/" not in row[0]]
    assert sources("in/**/*.gz", "in/a.xml") == [every[0], every[2]]
    assert sources("in/many.xml", recordTag="r") == [("many.xml", None)] * 2


def test_secrets_are_in_no_row_and_no_error(spark: SparkSession, options: dict[str, str], tmp_path: Path) -> None:
    register(spark)
    wrong = {**options, "secret_key": "do-not-tell", "endpoint_override": "127.0.0.1:1"}
    wrong |= {"connect_timeout": 1, "request_timeout": 1}
    reader = spark.read.format("winnow_xml").option("filesystemOptions", json.dumps(wrong))
    with pytest.raises(Exception, match="no_input") as error:
        reader.load("s3://landing/in").count()
    assert "do-not-tell" not in str(error.value)
