"""The whole pipeline on an S3 server on loopback, where one driver may write at a time: `make s3`, and nightly."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.fs as pafs
import pytest
from pyspark.sql import SparkSession

from checksums import Checksum
from conftest import ROOT
from spark.servers import connect_server, s3_server
from winnow.generate.sample import write_sample
from winnow.query.stored_tables import open_table
from winnow.tables import Lake
from winnow.tables.jars import folder_of, pyspark_jars, s3_jars
from winnow.tables.writers import CLAIMS, has_exclusive_log_store

from .lakes import FIRST, SECOND, SOURCES, contents
from .slow import NIGHTLY
from .test_crashes import DONE_BEFORE, INTERVAL, KILLS

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not (NIGHTLY or os.environ.get("WINNOW_S3")), reason="640 MB of jars: `make s3`, and nightly"),
]
KEYS = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
RUN = ("run", "--from", str(FIRST), "--to", str(SECOND))


@pytest.fixture(scope="module")
def bucket(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server, and an environment in which everybody finds it: Spark, pyarrow and delta-rs. The session that all
    tests share has started before, and does without the jars.
    """
    with s3_server(tmp_path_factory.mktemp("s3")) as address, pytest.MonkeyPatch.context() as patch:
        if not folder_of(s3_jars()):
            patch.setenv("WINNOW_JARS", str(ROOT / ".winnow" / "jars"))
        assert folder_of(s3_jars()), "`make s3` gets the jars"
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": f"http://{address}", "AWS_ALLOW_HTTP": "true"}.items():
            patch.setenv(name, value)
        yield "s3a://landing"


@pytest.fixture(scope="module")
def server(bucket: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with connect_server(tmp_path_factory.mktemp("connect")) as address:
        yield address


@pytest.fixture(scope="module")
def expected(published_lake: Lake) -> dict[str, Checksum]:
    return contents(published_lake)


def prepare(bucket: str, name: str, published_lake: Lake) -> Lake:
    """A lake on S3 with documents and profiles of two dates; nothing is encoded."""
    s3 = pafs.S3FileSystem(region="us-east-1", endpoint_override=os.environ["AWS_ENDPOINT_URL"])
    for table in SOURCES:
        source = published_lake.folder / table
        if source.is_dir():
            target = f"landing/{name}/{table}"
            pafs.copy_files(str(source), target, destination_filesystem=s3)
    return Lake(f"{bucket}/{name}")


def start(lake: Lake, *words: str, master: str, fault: str = "") -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "winnow.cli.main", *words, "--lake", lake.location, "--master", master]
    environment = {**os.environ, "WINNOW_FAULT": fault}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: "subprocess.Popen[str]", code: int = 0) -> str:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == code, out
    return out


def version(lake: Lake, table: str) -> int:
    return int(open_table(lake, table).version())  # type: ignore[union-attr]


def winnow(lake: Lake, *words: str, master: str) -> str:
    return finish(start(lake, *words, master=master))


def test_everything_through_one_server(
    server: str, expected: dict[str, Checksum], published_lake: Lake, tmp_path: Path
) -> None:
    """From files to deliveries, by the commands; then another driver comes, and is refused."""
    lake, inputs = Lake("s3a://landing/whole"), published_lake.folder.parent
    sample = write_sample(inputs / "sample", documents=40)  # once more, under the same names
    winnow(lake, "ingest", "documents", str(sample.documents), "--date", str(FIRST), master=server)
    words = ("ingest", "documents", str(sample.container), "--record-tag", "trade", "--date", str(SECOND))
    winnow(lake, *words, master=server)
    s3 = pafs.S3FileSystem(region="us-east-1", endpoint_override=os.environ["AWS_ENDPOINT_URL"])
    pafs.copy_files(str(inputs / "profiles.jsonl"), "landing/in/profiles.jsonl", destination_filesystem=s3)
    winnow(lake, "ingest", "profiles", "s3a://landing/in/profiles.jsonl", master=server)
    told = winnow(lake, *RUN, master=server)
    assert "report: s3a://landing/whole/_reports/" in told
    assert contents(lake) == expected

    # Readers without a JVM find the same.
    rows, _ = expected["matches"]
    count = winnow(lake, "query", "--sql", "SELECT count(*) AS n FROM matches", "--format", "jsonl", master=server)
    assert json.loads(count) == {"n": rows}
    assert f"{rows:,} rows" in next(
        line for line in winnow(lake, "status", master=server).splitlines() if line.split()[:1] == ["matches"]
    )
    winnow(lake, "deliver", "--date", str(FIRST), "--output", str(tmp_path), master=server)
    assert len(list((tmp_path / str(FIRST)).glob("*.jsonl"))) == 3
    document = json.loads(winnow(lake, "query", "--limit", "1", "--format", "jsonl", master=server))
    explained = ("explain", "--document", document["document_id"], "--profile", document["profile_id"])
    assert winnow(lake, *explained, master=server).startswith("matches")
    winnow(lake, "maintain", "--table", "matches", master=server)
    assert contents(lake)["matches"] == expected["matches"]

    # Another driver does not write, and says what to do; nor is there a trace of it.
    profiles = tmp_path / "profiles.jsonl"
    profiles.write_text('{"profile_id": "new", "xpath": "//p"}\n')
    before = version(lake, "profiles")
    refused = finish(start(lake, "ingest", "profiles", str(profiles), master="local[1]"), 75)
    assert "another_writer" in refused
    assert "send all jobs to one Spark Connect server" in refused
    assert version(lake, "profiles") == before
    marks = [info.base_name for info in s3.get_file_info(pafs.FileSelector(f"landing/whole/{CLAIMS}")) if info.is_file]
    assert [mark.partition(".")[2] for mark in marks] == ["holding"]
    winnow(lake, "ingest", "profiles", str(profiles), master=server)
    assert version(lake, "profiles") > before


def test_a_driver_of_its_own(bucket: str, expected: dict[str, Checksum], published_lake: Lake) -> None:
    """A classic session, alone with its lake."""
    lake = prepare(bucket, "classic", published_lake)
    winnow(lake, *RUN, "--no-audit", master="local[2]")
    assert contents(lake) == expected


def test_two_clients_at_once(server: str, bucket: str, expected: dict[str, Checksum], published_lake: Lake) -> None:
    lake = prepare(bucket, "two", published_lake)
    for client in [start(lake, *RUN, "--no-audit", master=server) for _ in range(2)]:
        finish(client)
    assert contents(lake) == expected


def test_clients_killed_at_every_commit(
    server: str, bucket: str, expected: dict[str, Checksum], published_lake: Lake
) -> None:
    lake = prepare(bucket, "killed", published_lake)
    done = set()
    for job, words, point in KILLS:
        for before in DONE_BEFORE.get(job, ()):
            if before not in done:
                winnow(lake, before, *(INTERVAL if before == "match-documents" else ()), master=server)
                done.add(before)
        finish(start(lake, job, *words, master=server, fault=point), -signal.SIGKILL)
    winnow(lake, *RUN, "--no-audit", master=server)
    estimates = {"document_samples", "selectivity"}  # of costs: who runs the jobs one by one makes them when he wants
    wanted = {name: found for name, found in expected.items() if name not in estimates}
    assert contents(lake, without=estimates) == wanted


def test_a_log_store_for_several_drivers_needs_no_claim(spark: SparkSession) -> None:
    setting = "spark.delta.logStore.s3a.impl"
    assert not has_exclusive_log_store(spark, "s3a://bucket/lake")
    spark.conf.set(setting, "io.delta.storage.S3DynamoDBLogStore")
    try:
        assert has_exclusive_log_store(spark, "s3a://bucket/lake")
        assert not has_exclusive_log_store(spark, "s3://bucket/lake")
    finally:
        spark.conf.unset(setting)


def test_without_the_jars_it_is_said(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if folder_of(s3_jars()) == pyspark_jars():
        pytest.skip("pyspark has them itself here")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("WINNOW_JARS", raising=False)
    refused = finish(start(Lake(f"{bucket}/none"), "encode-profiles", master="local[1]"), 2)
    assert "jars_missing" in refused
    assert "winnow setup-jars --s3" in refused
