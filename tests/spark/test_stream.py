"""A stream of documents ends with the table of a batch, whatever happens to its driver."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from encoding.documents import NIGHTLY
from winnow.spark import build_index, match

from .conftest import KIND, Frames

pytestmark = pytest.mark.spark

TESTS = Path(__file__).parents[1]
FILES = 6  # each is a batch


@pytest.mark.skipif(KIND != "classic" and not NIGHTLY, reason="starts servers three times over: nightly")
def test_a_stream_whose_driver_is_killed_ends_with_the_table_of_a_batch(
    spark: SparkSession, documents_of: Frames, profiles_of: Frames, tmp_path: Path
) -> None:
    arrivals, matches, checkpoint = (tmp_path / name for name in ("arrivals", "matches", "checkpoint"))
    index = build_index(profiles_of(p="/a", q="//b[. > 2]"), str(tmp_path / "index"))
    for number in range(FILES):
        rows = {f"d{number}-{k}": f"<a><b>{k}</b></a>" for k in range(5)}
        documents_of(**rows, **{f"broken-{number}": "<a>"}).coalesce(1).write.format("delta").mode("append").save(
            str(arrivals)
        )

    def within_a_batch() -> bool:
        """Its offsets are planned, its rows are not committed."""
        return _last(checkpoint / "offsets") > max(_last(checkpoint / "commits"), 0)

    def between_batches() -> bool:
        return _last(checkpoint / "commits") == _last(checkpoint / "offsets") > 2

    starts = count()

    def driver() -> "subprocess.Popen[bytes]":
        places = (tmp_path / f"servers-{next(starts)}", arrivals, tmp_path / "index", matches, checkpoint)
        command = [sys.executable, "-m", "spark.stream_matches", KIND, *map(str, places)]
        return subprocess.Popen(command, cwd=TESTS, start_new_session=True)

    _kill_when(within_a_batch, driver())
    assert _last(checkpoint / "commits") < FILES - 1, "killed too late to say anything"
    _kill_when(between_batches, driver())
    assert _last(checkpoint / "commits") < FILES - 1, "killed too late to say anything"
    assert driver().wait(240) == 0

    expected = match(spark.read.format("delta").load(str(arrivals)), index, outcomes=True)
    streamed = spark.read.format("delta").load(str(matches))
    assert sorted(map(str, streamed.collect())) == sorted(map(str, expected.collect()))
    assert streamed.count() == FILES * (5 + 2 + 1)


def _kill_when(condition: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    """The driver, its JVM and its workers get no chance to end anything."""
    deadline = time.monotonic() + 240
    try:
        while not condition():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _last(folder: Path) -> int:
    """The number of the last batch that a log of the checkpoint has; -1 without one."""
    return max((int(file.name) for file in folder.glob("[0-9]*") if file.name.isdigit()), default=-1)
