"""The same jobs on a real standalone cluster, submitted and through Spark Connect.

Workers share nothing with each other or the driver but the lake: each has a cache and scratch folders of its own, and
runs an installed package, not the sources. One of them dies half-way, and another one comes while the job runs.
"""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest

from conftest import ROOT
from packages import install_wheel
from spark.servers import cluster, connect_server, end
from winnow.tables import Lake

from .lakes import FIRST, SECOND, SOURCES, answers
from .slow import nightly

pytestmark = [pytest.mark.spark, nightly]
SPARK_SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.fixture(scope="module")
def workers_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An environment as `infra/docs/spark.md` has it for workers: the wheel, and kernels compiled once."""
    folder = install_wheel(tmp_path_factory.mktemp("workers"))
    subprocess.run([folder / "v" / "bin" / "winnow", "setup-kernels"], check=True)
    return str(folder / "v" / "bin" / "python")


@pytest.mark.parametrize("way", ["submitted", "connect"])
def test_a_worker_dies_and_another_one_comes(
    way: str, workers_python: str, published_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(str(tmp_path / "lake"))
    for table in SOURCES:
        shutil.copytree(published_lake.folder / table, lake.folder / table)
    words = ["--no-audit", "--from", str(FIRST), "--to", str(SECOND), "--lake", lake.location]
    monkeypatch.setenv("PYSPARK_PYTHON", workers_python)
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    with cluster(tmp_path) as machines, ExitStack() as servers:
        if way == "connect":
            address = servers.enter_context(connect_server(tmp_path, master=machines.address))
            command = [sys.executable, "-m", "winnow.cli.main", "run", *words, "--master", address]
        else:
            command = [str(SPARK_SUBMIT), "--master", machines.address, str(ROOT / "jobs" / "run.py"), *words]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ)
        assert job.stdout is not None
        seen = []
        for line in job.stdout:
            seen.append(line)
            if line.startswith("encode_documents") and machines.workers[0].poll() is None:
                end(machines.workers[0])  # half-way: encoded, but neither indexed nor matched
                added = machines.add_worker()
        assert job.wait(timeout=300) == 0, "".join(seen)
        assert machines.workers[0].poll() is not None
        assert list((added / "cache").iterdir())  # it has matched documents with index files that it fetched itself
    assert answers(lake) == answers(published_lake)
