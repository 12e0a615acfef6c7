"""kill -9 at named points, two runs at once, a client that dies: the same answers as an undisturbed run gives."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.generate.sample import write_sample
from winnow.tables import Lake

from .lakes import FIRST, SECOND, SOURCES, answers, ingest, published, reference, rows, run
from .slow import nightly

pytestmark = pytest.mark.spark

WINNOW = (sys.executable, "-m", "winnow.cli.main")
INTERVAL = ("--date", str(FIRST))
# One after the other on one lake: each run of a job comes a step further than the one before.
KILLS = [
    ("encode-documents", INTERVAL, "encoded_documents unwritten"),
    ("encode-documents", INTERVAL, "encoded_documents written"),
    ("encode-documents", INTERVAL, "paths written"),
    ("encode-profiles", (), "branches written"),
    ("build-index", (), "envelope_nodes written"),
    ("build-index", (), "index_partitions unwritten"),
    ("join-paths", (), "path_branches written"),
    ("match-documents", INTERVAL, "matches_staged unwritten"),
    ("match-documents", INTERVAL, "matches_staged written"),
    ("publish-matches", INTERVAL, "matches unwritten"),
    ("publish-matches", INTERVAL, "matches written"),
    ("publish-matches", INTERVAL, "deliveries written"),
    ("publish-matches", INTERVAL, "runs unwritten"),
]
DONE_BEFORE = {
    "join-paths": ("build-index",),
    "match-documents": ("join-paths",),
    "publish-matches": ("match-documents",),
}


class KilledError(BaseException):
    """Not an exception that anybody handles."""


@pytest.fixture
def prepared(published_lake: Lake, tmp_path: Path) -> Lake:
    """Documents of two dates and profiles; nothing is encoded."""
    for table in SOURCES:
        shutil.copytree(published_lake.folder / table, tmp_path / "lake" / table)
    return Lake(str(tmp_path / "lake"))


def start(lake: Lake, *words: str, fault: str = "", master: str = "local[2]") -> "subprocess.Popen[str]":
    environment = {**os.environ, "WINNOW_FAULT": fault, "WINNOW_MASTER": master}
    command = [*WINNOW, *words, "--lake", lake.location]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: "subprocess.Popen[str]", code: int = 0) -> str:
    out, _ = process.communicate(timeout=600)
    assert process.returncode == code, out
    return out


def traces(out: str) -> str:
    """The places that stack traces name; pyspark's daemon tells its own when the JVM has left before it."""
    return "".join(line for line in out.splitlines() if line.lstrip().startswith("File "))


def die_at(point: str, monkeypatch: pytest.MonkeyPatch, job: Callable[[], object]) -> None:
    def reached(name: str) -> None:
        if name == point:
            raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr("winnow.tables.tables.point", reached)
        with pytest.raises(KilledError):
            job()


def test_stopped_at_some_commits(
    spark: SparkSession, prepared: Lake, published_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for point in ("encoded_documents written", "path_branches written", "matches written"):
        die_at(point, monkeypatch, lambda: run(spark, prepared, FIRST, SECOND))
    run(spark, prepared, FIRST, SECOND)
    assert answers(prepared) == answers(published_lake)
    assert len({row["run_id"] for row in rows(prepared, "matches")}) == 2  # what was begun was finished, not replaced


@nightly
def test_killed_at_every_commit(spark: SparkSession, prepared: Lake, published_lake: Lake) -> None:
    """One lake, killed again and again, each time a step further; then finished."""
    done = set()
    for job, words, point in KILLS:
        for before in DONE_BEFORE.get(job, ()):
            if before not in done:
                finish(start(prepared, before, *(INTERVAL if before == "match-documents" else ())))
                done.add(before)
        finish(start(prepared, job, *words, fault=point), -signal.SIGKILL)
    run(spark, prepared, FIRST, SECOND)
    assert answers(prepared) == answers(published_lake)


@nightly
def test_two_runs_at_once(prepared: Lake, published_lake: Lake) -> None:
    words = ("run", "--no-audit", "--from", str(FIRST), "--to", str(SECOND))
    for process in [start(prepared, *words), start(prepared, *words)]:
        assert "/winnow/" not in traces(finish(process))
    assert answers(prepared) == answers(published_lake)


@nightly
def test_processes_at_once_are_as_one_after_the_other(spark: SparkSession, lake_copy: Lake, tmp_path: Path) -> None:
    """Two runs, an ingest, other profiles and maintenance, each a process: the folder's locks are all they share."""
    after = Lake(str(shutil.copytree(lake_copy.folder, tmp_path / "after")))
    late = write_sample(tmp_path / "late", documents=20, seed=7).documents
    file = tmp_path / "profiles.jsonl"
    interval = ("--from", str(FIRST), "--to", str(SECOND))
    file.write_text('{"profile_id": "new", "xpath": "//p", "destination": "desk/0"}\n')
    calls = [
        ("ingest", "documents", str(late), *INTERVAL),
        ("ingest", "profiles", str(file)),
        ("run", "--no-audit", *interval),
        ("run", "--no-audit", *interval),
        ("maintain",),
    ]
    for process in [start(lake_copy, *call) for call in calls]:
        assert "/winnow/" not in traces(finish(process))
    run(spark, lake_copy, FIRST, SECOND)
    ingest(spark, after, FIRST, late)
    finish(start(after, *calls[1]))
    run(spark, after, FIRST, SECOND)
    assert published(lake_copy) == published(after) == reference(after)
    assert answers(lake_copy) == answers(after)


WRITER = """
import sys, time
from winnow.tables import Lake, Transaction, contract
from winnow.tables.session import open_session
from winnow.tables.transactions import retried
def slowly(batches):
    for batch in batches:
        time.sleep(8)
        yield batch
spark, tables = open_session(master=sys.argv[1]), Lake(sys.argv[2]).open(open_session(master=sys.argv[1]))
tables.create("paths")
row_type = contract("paths").row_type
rows = spark.createDataFrame([(1, 0, "a", "/a", 1)], row_type).mapInArrow(slowly, row_type)
print("writing", flush=True)
if sys.argv[3] == "append":
    tables.append("paths", rows, Transaction("paths/once"))
elif sys.argv[3] == "append_new":
    tables.append_new("paths", rows)
else:
    def add():
        version = tables.version("paths")
        known = tables.read("paths", version=version)
        return tables.append_after("paths", version, rows.join(known, "path_id", "left_anti"))
    retried(add, table="paths")
"""


@nightly
@pytest.mark.parametrize("way", ["append", "append_new", "append_after"])
def test_the_client_dies_and_the_server_commits(connect_address: str, tmp_path: Path, way: str) -> None:
    """The same write is made again at once, while that of the dead client may still be on its way: it is there once."""
    lake = Lake(str(tmp_path / "lake"))
    command = [sys.executable, "-c", WRITER, connect_address, lake.location, way]
    client = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    assert client.stdout.readline() == "writing\n"
    time.sleep(3)  # the server is at it
    client.kill()
    client.wait()
    assert rows(lake, "paths") == []
    subprocess.run(command, check=True, timeout=300)
    deadline = time.monotonic() + 20  # what the dead client has left would be there by then
    while time.monotonic() < deadline:
        assert len(rows(lake, "paths")) == 1
        time.sleep(1)


@nightly
def test_a_run_whose_client_dies_is_finished(connect_address: str, prepared: Lake, published_lake: Lake) -> None:
    words = ("run", "--no-audit", "--from", str(FIRST), "--to", str(SECOND))
    for table in ("encoded_documents", "matches_staged", "matches"):
        client = start(prepared, *words, master=connect_address)
        deadline = time.monotonic() + 300
        while not list((prepared.folder / table).rglob("*.parquet")):  # its data is being written
            assert client.poll() is None, client.communicate()[0]
            assert time.monotonic() < deadline
            time.sleep(0.01)
        client.kill()
        client.wait()
    finish(start(prepared, *words, master=connect_address))
    assert answers(prepared) == answers(published_lake)
