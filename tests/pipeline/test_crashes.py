"""kill -9 at named points, two runs at once: afterwards the same answers as an undisturbed run gives."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lakes import FIRST, SECOND, answers, declare, ingest_two_dates, published, reference, run
from pyspark.sql import SparkSession
from winnow.lake.store import require_table

from winnow.generate.sample import make_profiles

pytestmark = pytest.mark.spark

NIGHTLY = bool(os.environ.get("WINNOW_NIGHTLY"))


def winnow(lake: Path, *arguments: str, fault: str = "") -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "winnow.cli.main", *arguments, "--lake", str(lake)]
    environment = {**os.environ, "WINNOW_FAULT": fault, "WINNOW_MASTER": "local[2]"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process: "subprocess.Popen[str]", code: int = 0) -> str:
    out, _ = process.communicate(timeout=300)
    assert process.returncode == code, out
    return out


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of two dates and profiles; nothing is encoded."""
    folder = tmp_path_factory.mktemp("crashes")
    ingest_two_dates(spark, str(folder / "lake"), folder, documents=30)
    declare(str(folder / "lake"), folder, make_profiles(30, seed=4))
    return folder / "lake"


@pytest.fixture(scope="module")
def expected(spark: SparkSession, prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    lake = tmp_path_factory.mktemp("undisturbed") / "lake"
    shutil.copytree(prepared, lake)
    run(spark, str(lake), FIRST, SECOND)
    assert published(str(lake)) == reference(str(lake)) != set()
    return dict(answers(str(lake)))


def test_killed_at_every_commit(
    spark: SparkSession, prepared: Path, expected: dict[str, object], tmp_path: Path
) -> None:
    """One lake, killed again and again, each time a step further; then finished."""
    lake = tmp_path / "lake"
    shutil.copytree(prepared, lake)
    killed = -signal.SIGKILL
    spark_points = [
        ("encode-documents", "path_documents written"),
        ("match-documents", "matches_staged unwritten"),
        ("match-documents", "matches_staged written"),
    ]
    if NIGHTLY:
        spark_points[:0] = [
            ("encode-documents", f"{table} written") for table in ("vocabulary", "paths", "document_samples")
        ]
        spark_points[4:4] = [("join-paths", "path_branches written")]
    for command, point in spark_points:
        dates = ["--date", str(FIRST)] if command != "join-paths" else []
        if command == "join-paths":
            run_until_indexed(spark, lake)
        if command == "match-documents":
            run_until_joined(spark, lake)
        finish(winnow(lake, command, *dates, fault=point), killed)
    for command, point in [
        ("build-index", "envelope_nodes unwritten"),
        ("build-index", "envelope_nodes written"),
        ("build-index", "index_partitions unwritten"),
    ]:
        finish(winnow(lake, command, "--rebuild", fault=point), killed)
    for point in ("matches unwritten", "matches written", "deliveries written", "ledger unwritten", "ledger written"):
        finish(winnow(lake, "publish-matches", "--date", str(FIRST), fault=point), killed)
        if point == "ledger unwritten":
            assert require_table(str(lake), "ledger").to_pyarrow_table().num_rows == 0
    run(spark, str(lake), FIRST, SECOND)
    assert answers(str(lake)) == expected


def run_until_indexed(spark: SparkSession, lake: Path) -> None:
    from winnow.pipeline import build_index, encode_documents, encode_profiles

    where = str(lake)
    encode_documents.run(spark, encode_documents.Config(lake=where, date=FIRST, run_id="t"))
    encode_profiles.run(spark, encode_profiles.Config(lake=where, run_id="t"))
    build_index.run(build_index.Config(lake=where, run_id="t"))


def run_until_joined(spark: SparkSession, lake: Path) -> None:
    from winnow.pipeline import join_paths

    run_until_indexed(spark, lake)
    join_paths.run(spark, join_paths.Config(lake=str(lake), run_id="t"))


def test_two_runs_at_once(prepared: Path, expected: dict[str, object], tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    shutil.copytree(prepared, lake)
    both = [
        winnow(lake, "run", "--no-audit", "--from", str(FIRST), "--to", str(SECOND), "--run-id", name)
        for name in ("one", "other")
    ]
    for process in both:
        finish(process)
    assert answers(str(lake)) == expected


def test_a_stale_publication_is_refused(spark: SparkSession, prepared: Path, tmp_path: Path) -> None:
    """Two runs staged on the same ledger: the second would add its rows once more."""
    from winnow.pipeline import match_documents, publish_matches

    from winnow.errors import TransientError

    lake = str(tmp_path / "lake")
    shutil.copytree(prepared, lake)
    run_until_joined(spark, Path(lake))
    config = match_documents.Config(lake=lake, dates=(FIRST,), run_id="t")
    first, second = (match_documents.run(spark, config)[1][FIRST] for _ in range(2))
    publish_matches.run(publish_matches.Config(lake=lake, date=FIRST, staged_version=first, run_id="t"))
    before = answers(lake)
    publish_matches.run(publish_matches.Config(lake=lake, date=FIRST, staged_version=first, run_id="t"))
    assert answers(lake) == before  # publishing twice changes nothing
    with pytest.raises(TransientError, match="interval_moved"):
        publish_matches.run(publish_matches.Config(lake=lake, date=FIRST, staged_version=second, run_id="t"))
    assert answers(lake) == before
