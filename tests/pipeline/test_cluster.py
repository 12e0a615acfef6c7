"""The same jobs on a real standalone cluster, one master and two workers on loopback; one of them dies half-way."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from lakes import FIRST, SECOND, answers, declare, ingest_two_dates, run
from pyspark.sql import SparkSession

from winnow.generate.sample import make_profiles

pytestmark = pytest.mark.spark

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spawn(log: Path, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(log.parent / "work")}
    environment["PYSPARK_PYTHON"] = sys.executable
    command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=log.open("wb"), stderr=subprocess.STDOUT, start_new_session=True
    )


def end(process: "subprocess.Popen[bytes]") -> None:
    """The whole group: a worker's executors go with it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list["subprocess.Popen[bytes]"]]]:
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    ui = ("--webui-port", "0")
    running = [spawn(tmp_path / "master.log", "master.Master", "--port", str(port), *ui)]
    try:
        _wait(tmp_path / "master.log", "New state: ALIVE")
        for number in range(2):
            log = tmp_path / f"worker{number}.log"
            running.append(spawn(log, "worker.Worker", "--cores", "1", "--memory", "2g", *ui, address))
            _wait(log, "Successfully registered")
        yield address, running[1:]
    finally:
        for process in running:
            end(process)


def _wait(log: Path, words: str, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while words not in log.read_text(errors="replace"):
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.2)


def test_a_cluster_gives_the_same_answers_even_if_a_worker_dies(
    spark: SparkSession, lake: str, tmp_path: Path, cluster: tuple[str, list["subprocess.Popen[bytes]"]]
) -> None:
    ingest_two_dates(spark, lake, tmp_path, documents=60)
    declare(lake, tmp_path, make_profiles(40, seed=8))
    local = tmp_path / "local"
    shutil.copytree(lake, local)
    run(spark, str(local), FIRST, SECOND)
    address, workers = cluster
    command = [sys.executable, "-m", "winnow.cli.main", "run", "--no-audit", "--from", str(FIRST), "--to", str(SECOND)]
    job = subprocess.Popen(
        [*command, "--lake", lake, "--master", address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert job.stdout is not None
    seen = []
    for line in job.stdout:
        seen.append(line)
        if line.startswith("encode_documents") and workers[0].poll() is None:
            end(workers[0])  # half-way: encoded, but neither indexed nor matched
    assert job.wait(timeout=300) == 0, "".join(seen)
    assert workers[0].poll() is not None
    assert answers(lake) == answers(str(local))
