"""A run can be asked again from its row, also when its inputs have moved on."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.errors import DataError
from winnow.jobs import replay
from winnow.tables import Lake

from .lakes import FIRST, declare, ingest, rows, run

pytestmark = pytest.mark.spark


def test_a_run_gives_the_same_answers_when_it_is_asked_again(spark: SparkSession, tmp_path: Path) -> None:
    lake, folder = Lake(str(tmp_path / "lake")), tmp_path / "documents"
    folder.mkdir()
    for k in range(6):
        (folder / f"{k}.xml").write_text(f"<a n='{k}'><b>{k}</b></a>")
    ingest(spark, lake, FIRST, folder)
    first: list[dict[str, object]] = [{"profile_id": "b", "xpath": "/a/b"}, {"profile_id": "n", "xpath": "//a[@n > 3]"}]
    declare(spark, lake, tmp_path, first)
    run(spark, lake, FIRST)
    declare(
        spark, lake, tmp_path, [{"profile_id": "b", "xpath": "/a/c"}, {"profile_id": "h", "xpath": "count(//b) = 1"}]
    )
    run(spark, lake, FIRST)
    runs = sorted(rows(lake, "runs"), key=lambda row: str(row["planned_at"]))
    counts = []
    for row in runs:
        (report,) = replay.run(spark, replay.Config(lake=lake, run_id=str(row["run_id"])))
        counts.append(report.counts)
    assert counts == [{"same": count, "only staged": 0, "only now": 0} for count in (8, 6)]
    with pytest.raises(DataError, match="unknown_run"):
        list(replay.run(spark, replay.Config(lake=lake, run_id="nobody")))


def test_answers_that_differ_are_counted(spark: SparkSession) -> None:
    def answers(*pairs: tuple[str, int, str]) -> object:
        columns = "document_id string, profiles long, witnesses string"
        return spark.createDataFrame(list(pairs), columns)

    staged = answers(("a", 1, "/x"), ("a", 2, "/x"), ("b", 1, "/x"))
    again = answers(("a", 1, "/x"), ("a", 2, "/y"))
    assert replay.compare(staged, again) == {"same": 1, "only staged": 2, "only now": 1}  # type: ignore[arg-type]
