"""The same jobs on a real standalone cluster, one master and two workers on loopback; one of them dies half-way."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spark.servers import cluster_and_workers, end
from winnow.tables import Lake

from .lakes import FIRST, SECOND, SOURCES, answers
from .slow import nightly

pytestmark = pytest.mark.spark


@nightly
def test_a_cluster_gives_the_same_answers_even_if_a_worker_dies(published_lake: Lake, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    for table in SOURCES:
        shutil.copytree(published_lake.folder / table, lake.folder / table)
    words = ["run", "--no-audit", "--from", str(FIRST), "--to", str(SECOND), "--lake", lake.location]
    with cluster_and_workers(tmp_path) as (address, workers):
        job = subprocess.Popen(
            [sys.executable, "-m", "winnow.cli.main", *words, "--master", address],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert job.stdout is not None
        seen = []
        for line in job.stdout:
            seen.append(line)
            if line.startswith("encode_documents") and workers[0].poll() is None:
                end(workers[0])  # half-way: encoded, but neither indexed nor matched
        assert job.wait(timeout=300) == 0, "".join(seen)
        assert workers[0].poll() is not None
    assert answers(lake) == answers(published_lake)
