"""A run can be asked again from its row, also when its inputs have moved on."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.errors import DataError
from winnow.jobs import replay
from winnow.tables import Lake

from .lakes import declare, rows

pytestmark = pytest.mark.spark


def test_a_run_gives_the_same_answers_when_it_is_asked_again(
    spark: SparkSession, lake_copy: Lake, tmp_path: Path
) -> None:
    """Also when the profiles have changed since."""
    declare(spark, lake_copy, tmp_path, [{"profile_id": "later", "xpath": "/*"}])
    (run_id,) = {str(row["run_id"]) for row in rows(lake_copy, "runs")}
    reports = list(replay.run(spark, replay.Config(lake=lake_copy, run_id=run_id)))
    assert sum(report.counts["same"] for report in reports) == len(rows(lake_copy, "matches")) > 0
    assert not any(report.counts["only staged"] + report.counts["only now"] for report in reports)
    with pytest.raises(DataError, match="unknown_run"):
        list(replay.run(spark, replay.Config(lake=lake_copy, run_id="nobody")))


def test_answers_that_differ_are_counted(spark: SparkSession) -> None:
    def answers(*pairs: tuple[str, int, str]) -> object:
        columns = "document_id string, profiles long, witnesses string"
        return spark.createDataFrame(list(pairs), columns)

    staged = answers(("a", 1, "/x"), ("a", 2, "/x"), ("b", 1, "/x"))
    again = answers(("a", 1, "/x"), ("a", 2, "/y"))
    assert replay.compare(staged, again) == {"same": 1, "only staged": 2, "only now": 1}  # type: ignore[arg-type]
