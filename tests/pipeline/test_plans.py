"""A plan made of what came is the plan made by comparing everything; where it may not be, everything is compared."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lakes import FIRST, SECOND, declare, ingest, ingest_two_dates, published, reference, rows, run
from pyspark.sql import SparkSession
from winnow.lake.store import require_table
from winnow.pipeline import ledger, match_documents
from winnow.pipeline import run as pipeline
from winnow.pipeline.match_documents import Pinned
from winnow.pipeline.profiles import SET_COLUMNS
from winnow.pipeline.set_names import set_name

ROWS = st.tuples(st.text(max_size=20), st.integers(1, 9), st.none() | st.text(max_size=9), st.none() | st.text())


def _set(rows: list[Any]) -> pa.Table:
    types = (pa.string(), pa.int32(), pa.string(), pa.string())
    columns = [*zip(*rows, strict=True)] or [()] * 4
    return pa.table([pa.array(c, kind) for c, kind in zip(columns, types, strict=True)], names=SET_COLUMNS)


@given(st.lists(ROWS, unique=True), st.lists(ROWS, unique=True), st.randoms())
def test_a_name_says_what_is_in_the_set_and_nothing_else(one: list[Any], two: list[Any], chance: Any) -> None:
    assert (set_name(_set(one)) == set_name(_set(two))) == (set(one) == set(two))
    came = [row for row in two if row not in one]
    together = chance.sample(one + came, len(one + came))
    assert set_name(_set(came), set_name(_set(one))) == set_name(_set(together))


def _told(lake: str) -> list[Any]:
    """What is planned for both dates."""
    config = match_documents.Config(lake=lake, dates=(FIRST, SECOND), run_id="t")
    told = []
    for plan in Pinned(config).plan():
        groups = [(g.batches, g.asked_before, g.ask.to_pylist()) for g in plan.groups]
        told.append((plan.date, plan.profile_set, plan.batches, plan.answered, plan.mode, plan.base, groups))
    return told


@pytest.mark.spark
def test_a_plan_of_what_came_equals_one_of_everything(
    spark: SparkSession, lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest_two_dates(spark, lake, tmp_path, documents=10)
    some = [{"profile_id": f"p{n}", "xpath": f"//*[{n}]", "destination": "d"} for n in range(1, 7)]
    declare(lake, tmp_path, some)
    run(spark, lake, FIRST, SECOND)
    came_in = ledger._came
    by_what_came: list[bool] = []

    def noted(*arguments: Any) -> pa.Table | None:
        came = came_in(*arguments)
        by_what_came.append(came is not None)
        return came

    def step(profiles: list[dict[str, Any]], expected: list[bool], asked: list[int]) -> None:
        declare(lake, tmp_path, profiles)
        for _ in pipeline.prepare(spark, pipeline.Config(lake=lake, dates=(FIRST, SECOND), run_id="t")):
            pass
        by_what_came.clear()
        monkeypatch.setattr(ledger, "_came", noted)
        told = _told(lake)
        assert by_what_came == expected
        monkeypatch.setattr(ledger, "_came", lambda *_: None)
        assert told == _told(lake)
        assert [sum(len(ask) for *_, ask in interval[-1]) for interval in told] == asked
        monkeypatch.setattr(ledger, "_came", came_in)
        run(spark, lake, FIRST, SECOND)
        assert published(lake) == reference(lake) != set()
        active = {row["profile_id"] for row in rows(lake, "profiles") if row["state"] == "active"} - {"bad", "later"}
        last = {row["profile_set"] for row in rows(lake, "ledger") if row["match_date"] == FIRST}
        assert {row["profile_id"] for row in rows(lake, "profile_sets") if row["profile_set"] in last} == active

    new = [
        {"profile_id": "native", "xpath": "//p | /* | //*[@a='1']"},
        {"profile_id": "hybrid", "xpath": "//*[string-length(.) > 3]"},
        {"profile_id": "bad", "xpath": "//a["},
        {"profile_id": "later", "xpath": "/*", "valid_from": str(SECOND)},
    ]
    both, neither = [True, True], [False, False]
    step([*some, *new], both, [2, 3])
    step([*some, *new], both, [0, 0])
    more = {"profile_id": "more", "xpath": "//*[2]"}
    elsewhere = {**some[0], "destination": "elsewhere"}
    step([elsewhere, *some[1:], *new, more], neither, [1, 1])
    step([elsewhere, *some[2:], *new, more], neither, [0, 0])  # one retires
    step([elsewhere, *some[1:], *new, more], neither, [1, 1])  # and comes back
    changed = {**more, "xpath": "//*[3]"}
    step([elsewhere, *some[1:], *new, changed], neither, [1, 1])
    require_table(lake, "profiles").optimize.compact()
    step([elsewhere, *some[1:], *new, changed, {"profile_id": "x", "xpath": "//*[1]"}], neither, [1, 1])
    step([elsewhere, *some[1:], *new, changed, {"profile_id": "x", "xpath": "//*[1]"}], both, [0, 0])
    (tmp_path / "late.xml").write_text("<late/>")
    ingest(spark, lake, FIRST, tmp_path / "late.xml")
    every = len(some) + len(new) - 2 + 2
    step([elsewhere, *some[1:], *new, changed, {"profile_id": "x", "xpath": "//*[1]"}], [True], [every, 0])
