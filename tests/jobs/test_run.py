"""The pipeline's answers equal libxml2's, pair by pair, however they came about."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from checksums import by_delta_rs, by_duckdb, by_spark
from winnow.deciding.limits import EvaluationLimits
from winnow.errors import DataError, TransientError
from winnow.generate.sample import make_profiles, write_sample
from winnow.jobs import run as pipeline
from winnow.jobs.report import RunReport
from winnow.jobs.staged_runs import unpublished
from winnow.tables import Lake

from .lakes import (
    FIRST,
    SECOND,
    answers,
    declare,
    from_scratch,
    ingest,
    ingest_two_dates,
    published,
    reference,
    rows,
    run,
)
from .slow import NIGHTLY, nightly

pytestmark = pytest.mark.spark


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def test_every_step_equals_libxml2(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """Nightly, every step also equals a lake that was made from the same documents and profiles at once."""
    profiles = [*make_profiles(60, seed=1), {"profile_id": "bad", "xpath": "//a["}]
    ingest_two_dates(spark, lake, tmp_path)
    declare(spark, lake, tmp_path, profiles)

    def check() -> None:
        assert published(lake) == reference(lake)
        if NIGHTLY:
            assert answers(lake) == from_scratch(spark, lake, tmp_path / "again", FIRST, SECOND)

    run(spark, lake, FIRST)  # day 1
    first = published(lake)
    assert len(first) > 100
    assert {pair for pair in reference(lake) if pair in first} == first
    run(spark, lake, SECOND)  # day 2
    assert published(lake) > first
    check()

    place = f"{lake.location}/matches"
    before = by_delta_rs(place)
    reports = run(spark, lake, FIRST, SECOND)  # nothing is answered twice
    assert reports["match_documents"].counts["to publish"] == 0
    assert by_spark(spark, place) == by_duckdb(place) == by_delta_rs(place) == before

    # New profiles meet all history: native ones as they were encoded, hybrids from the documents.
    new: list[dict[str, object]] = [
        {"profile_id": "n1", "xpath": "//p", "destination": "desk"},
        {"profile_id": "n2", "xpath": "//p[contains(., 'a')]"},
        {"profile_id": "n3", "xpath": "//p[not(zz)]"},
        {"profile_id": "n4", "xpath": "/*"},
        {"profile_id": "n5", "xpath": "//nothing/at/all"},
        {"profile_id": "n6", "xpath": "true()"},
    ]
    declare(spark, lake, tmp_path, [*profiles, *new])
    reports = run(spark, lake, FIRST, SECOND)
    assert reports["match_documents"].counts["profiles asked"] == len(new)
    check()

    # Changed meaning, changed destination, changed validity, retired: some rows come, some go, some only change.
    # Late documents of an old date are a batch of their own.
    changed = [
        {**profiles[0], "xpath": "//p"},
        {**profiles[1], "destination": "elsewhere"},
        {**profiles[2], "valid_from": str(SECOND)},
        *profiles[6:],
        *new[:3],
    ]
    declare(spark, lake, tmp_path, changed)
    if NIGHTLY:
        run(spark, lake, FIRST, SECOND)
        check()
    late = write_sample(tmp_path / "late", documents=20, seed=99)
    ingest(spark, lake, FIRST, late.documents)
    reports = run(spark, lake, FIRST, SECOND)
    check()
    assert {row["destination"] for row in rows(lake, "matches") if row["profile_id"] == profiles[1]["profile_id"]} <= {
        "elsewhere"
    }

    # Nothing is left to ask for: what was published is taken back.
    declare(spark, lake, tmp_path, [{"profile_id": "n", "xpath": "//nothing"}])
    run(spark, lake, FIRST, SECOND)
    assert published(lake) == set()


@nightly
def test_the_same_however_it_is_run(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """Partitions of the index, shards of the profiles, order of the dates, engines: the same answers."""
    ingest_two_dates(spark, lake, tmp_path)
    declare(spark, lake, tmp_path, [*make_profiles(40, seed=3), {"profile_id": "always", "xpath": "true()"}])
    run(spark, lake, FIRST, SECOND)
    expected = answers(lake)
    assert published(lake) == reference(lake) != set()
    again = tmp_path / "again"
    assert from_scratch(spark, lake, again, SECOND, FIRST, partition=3, shard=20) == expected
    assert len({row["partition"] for row in rows(Lake(str(again)), "index_partitions")}) > 3
    assert from_scratch(spark, lake, again, FIRST, SECOND, engine="b-boxfilter") == expected
    run(spark, Lake(str(again)), FIRST, SECOND, full=True, shard=30)
    assert answers(Lake(str(again))) == expected
    run(spark, Lake(str(again)), FIRST, SECOND, full=True, shard=7, engine="nfa+top-down-pruned")
    assert published(Lake(str(again))) == published(lake)  # by other witnesses, where a profile has alternatives


@nightly
def test_the_same_in_whatever_order_files_come(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    for number in range(12):
        for date in (FIRST, SECOND):
            target = tmp_path / "files" / str(date) / f"{number % 3}"
            target.mkdir(parents=True, exist_ok=True)
            (target / f"{number}.xml").write_text(f"<r><n{number}/><b>{date}</b></r>")
    folders = [(date, tmp_path / "files" / str(date) / part) for date in (FIRST, SECOND) for part in "012"]
    profiles: list[dict[str, object]] = [{"profile_id": f"p{n}", "xpath": f"//n{n} | /r/b"} for n in range(8)]
    other = Lake(str(tmp_path / "other"))
    for own, order in ((lake, folders), (other, folders[::-1])):
        for date, folder in order:
            ingest(spark, own, date, folder)
        declare(spark, own, tmp_path, profiles)
        run(spark, own, FIRST, SECOND)
    assert answers(lake) == answers(other)
    assert published(lake) == reference(lake) != set()


@nightly
def test_validity_decides_by_date(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    validity: list[dict[str, object]] = [
        {"profile_id": "until", "xpath": "/a", "valid_to": str(FIRST)},
        {"profile_id": "from", "xpath": "/a", "valid_from": str(FIRST)},
        {"profile_id": "later", "xpath": "/a", "valid_from": str(SECOND)},
    ]
    declare(spark, lake, tmp_path, validity)
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    run(spark, lake, FIRST)
    assert {profile for _, profile in published(lake)} == {"from"}
    row = rows(lake, "matches")[0]
    assert (row["source"], row["witness"], row["profile_version"]) == (str(tmp_path / "a.xml"), "/a", 1)


@nightly
def test_a_run_of_some_profiles_leaves_the_rest_for_later(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    ingest_two_dates(spark, lake, tmp_path, documents=20)
    profiles = make_profiles(20, seed=5)
    declare(spark, lake, tmp_path, profiles)
    run(spark, lake, FIRST, SECOND)
    new = [{"profile_id": f"{kind}{k}", "xpath": xpath} for kind in "xy" for k, xpath in enumerate(("//p", "/*"))]
    declare(spark, lake, tmp_path, [*profiles, *new])
    run(spark, lake, FIRST, SECOND, only="x*")
    expected = reference(lake)
    assert published(lake) == {pair for pair in expected if not pair[1].startswith("y")}
    run(spark, lake, FIRST, SECOND, only="x*")
    run(spark, lake, FIRST, SECOND)
    assert published(lake) == expected
    assert run(spark, lake, FIRST, SECOND)["match_documents"].counts["to publish"] == 0


@nightly
def test_pairs_given_up_are_rows(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """Neither a match nor a silent miss, and they stay until somebody asks again."""
    (tmp_path / "wide.xml").write_text("<r>" + "<a>1</a>" * 40_000 + "<b/></r>")
    ingest(spark, lake, FIRST, tmp_path / "wide.xml")
    slow: dict[str, object] = {"profile_id": "slow", "xpath": "//a[not(//z)][count(../a) = 3]"}
    quick: dict[str, object] = {"profile_id": "quick", "xpath": "//b"}
    declare(spark, lake, tmp_path, [slow, quick])
    limits = EvaluationLimits(pair_seconds=0.5, document_seconds=1.0)
    reports = run(spark, lake, FIRST, evaluation=limits)
    assert reports["match_documents"].counts["undecided"] == 1
    (row,) = rows(lake, "undecided")
    assert (row["profile_id"], row["profile_version"]) == ("slow", 1)
    assert row["reason"]
    assert {profile for _, profile in published(lake)} == {"quick"}
    declare(spark, lake, tmp_path, [slow, quick, {"profile_id": "new", "xpath": "/r"}])
    run(spark, lake, FIRST, evaluation=limits)
    assert len(rows(lake, "undecided")) == 1
    declare(spark, lake, tmp_path, [quick])
    run(spark, lake, FIRST, evaluation=limits)
    assert rows(lake, "undecided") == []


@nightly
def test_a_date_that_fails_its_gate_does_not_stop_the_others(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    ingest_two_dates(spark, lake, tmp_path)
    declare(spark, lake, tmp_path, make_profiles(10, seed=4))
    lake.open(spark).create("quality_results")

    def audit(date: dt.date, run_id: str) -> RunReport:
        if date == FIRST:
            raise DataError("gate_failed", f"{date} is wrong in run {run_id}")
        row = {"run_id": run_id, "suite": "s", "check": "c", "table": "t", "severity": "critical", "success": True}
        row |= {"observed": 0.0, "expected": "0", "unexpected": 0, "message": "", "match_date": date}
        tables = lake.open(spark)
        (staged,) = [r for r in rows(lake, "runs") if r["run_id"] == run_id and r["match_date"] == date]
        made = spark.createDataFrame([row | {"staged_version": staged["staged_version"]}])
        tables.append_new("quality_results", made.selectExpr("*").select(*tables.read("quality_results").columns))
        return RunReport("audit_matches")

    config = pipeline.Config(lake=lake, dates=(FIRST, SECOND), run_id=pipeline.new_run_id())
    with pytest.raises(DataError, match=f"gate_failed: {FIRST} is wrong"):
        list(pipeline.run(spark, config, audit))
    assert {row["match_date"] for row in rows(lake, "matches")} == {SECOND}
    assert unpublished(lake.open(spark)) == {FIRST: config.run_id}


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (TransientError("interval_moved", "another run was first"), [True, False]),
        (DataError("join_stale", "a path came meanwhile"), [True, True]),
        (RuntimeError("Traceback …\nwinnow.errors.DataError: paths_stale: a path is not known\n"), [True, True]),
        (DataError("gate_failed", "wrong"), [True]),
        (RuntimeError("wrong"), [True]),
    ],
)
def test_a_run_that_was_overtaken_plans_anew(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, error: Exception, full: list[bool]
) -> None:
    tried: list[pipeline.Config] = []

    def jobs(_: SparkSession, config: pipeline.Config, gate: object) -> Iterator[RunReport]:
        tried.append(config)
        if len(tried) == 1:
            raise error
        yield from ()

    monkeypatch.setattr(pipeline, "_jobs", jobs)
    reports = pipeline.run(spark, pipeline.Config(lake=lake, dates=(FIRST,), run_id="given", full=True))
    if len(full) == 1:
        with pytest.raises(type(error), match="wrong"):
            list(reports)
    else:
        assert list(reports) == []
    assert [config.full for config in tried] == full
    assert len({config.run_id for config in tried}) == len(tried)


def test_nothing_staged_is_nothing_unpublished(spark: SparkSession, lake: Lake) -> None:
    assert unpublished(lake.open(spark)) == {}
