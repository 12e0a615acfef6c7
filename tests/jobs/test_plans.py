"""What is asked of documents that were asked before is what came since, and the answers are libxml2's at every step."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.jobs import backfill, maintain, match_documents
from winnow.jobs import run as pipeline
from winnow.tables import Lake

from .lakes import FIRST, SECOND, declare, ingest, ingest_two_dates, published, reference, run
from .slow import nightly

pytestmark = pytest.mark.spark
Profiles = list[dict[str, object]]


@nightly
def test_what_came_is_asked_and_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    ingest_two_dates(spark, lake, tmp_path, documents=10)
    some: Profiles = [{"profile_id": f"p{n}", "xpath": f"//*[{n}]", "destination": "d"} for n in range(1, 7)]
    declare(spark, lake, tmp_path, some)
    run(spark, lake, FIRST, SECOND)

    def step(profiles: Profiles, asked: list[int]) -> None:
        declare(spark, lake, tmp_path, profiles)
        config = match_documents.Config(lake=lake, dates=(FIRST, SECOND), run_id=pipeline.new_run_id("estimate"))
        assert [estimate.profiles for estimate in backfill.estimate(spark, config)] == asked
        run(spark, lake, FIRST, SECOND)
        assert published(lake) == reference(lake) != set()

    new: Profiles = [
        {"profile_id": "native", "xpath": "//p | /* | //*[@a='1']"},
        {"profile_id": "hybrid", "xpath": "//*[string-length(.) > 3]"},
        {"profile_id": "bad", "xpath": "//a["},
        {"profile_id": "later", "xpath": "/*", "valid_from": str(SECOND)},
    ]
    step([*some, *new], [2, 3])
    step([*some, *new], [0, 0])
    more: dict[str, object] = {"profile_id": "more", "xpath": "//*[2]"}
    elsewhere = {**some[0], "destination": "elsewhere"}
    step([elsewhere, *some[1:], *new, more], [2, 2])
    step([elsewhere, *some[2:], *new, more], [0, 0])  # one retires
    step([elsewhere, *some[1:], *new, more], [1, 1])  # and comes back
    changed = {**more, "xpath": "//*[3]"}
    list(maintain.run(spark, maintain.Config(lake=lake, tables=("profiles", "encoded_documents", "runs"))))
    last = [elsewhere, *some[1:], *new, changed, {"profile_id": "x", "xpath": "//*[1]"}]
    step(last, [2, 2])
    (tmp_path / "late.xml").write_text("<late/>")
    ingest(spark, lake, FIRST, tmp_path / "late.xml")
    step(last, [len(some) + len(new) - 2 + 2, 0])
