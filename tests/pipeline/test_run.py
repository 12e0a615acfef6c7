"""The pipeline's answers equal libxml2's, pair by pair, however they came about."""

import datetime as dt
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from lakes import (
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
from pyspark.sql import SparkSession
from winnow.lake.store import require_table
from winnow.pipeline import encode_documents, encode_profiles
from winnow.pipeline import run as pipeline
from winnow.pipeline.publish_matches import unpublished

from checksums import by_delta_rs, by_duckdb, by_spark
from winnow.deciding.limits import EvaluationLimits
from winnow.errors import DataError
from winnow.generate.sample import make_profiles, write_sample
from winnow.jobs.report import RunReport

pytestmark = pytest.mark.spark


def test_every_step_equals_a_full_recomputation(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    profiles = [*make_profiles(60, seed=1), {"profile_id": "bad", "xpath": "//a["}]
    ingest_two_dates(spark, lake, tmp_path)
    declare(lake, tmp_path, profiles)

    def check(*dates: object) -> None:
        assert published(lake) == reference(lake)
        assert answers(lake) == from_scratch(spark, lake, tmp_path / "again", *dates)  # type: ignore[arg-type]

    run(spark, lake, FIRST)  # day 1
    first = published(lake)
    assert len(first) > 100
    assert {pair for pair in reference(lake) if pair in first} == first
    run(spark, lake, SECOND)  # day 2
    assert published(lake) > first
    check(FIRST, SECOND)

    before = by_delta_rs(f"{lake}/matches")
    reports = run(spark, lake, FIRST, SECOND)  # nothing is answered twice
    assert reports["match_documents"].counts["to publish"] == 0
    assert by_delta_rs(f"{lake}/matches") == before
    assert by_spark(spark, f"{lake}/matches") == by_duckdb(f"{lake}/matches") == before

    # New profiles meet all history: native ones as they were encoded, hybrids from the documents.
    new = [
        {"profile_id": "n1", "xpath": "//p", "destination": "desk"},
        {"profile_id": "n2", "xpath": "//p[contains(., 'a')]"},
        {"profile_id": "n3", "xpath": "//p[not(zz)]"},
        {"profile_id": "n4", "xpath": "/*"},
        {"profile_id": "n5", "xpath": "//nothing/at/all"},
        {"profile_id": "n6", "xpath": "true()"},
    ]
    declare(lake, tmp_path, [*profiles, *new])
    reports = run(spark, lake, FIRST, SECOND)
    assert reports["match_documents"].counts["profiles asked"] == len(new)
    check(FIRST, SECOND)

    # Changed meaning, changed destination, changed validity, retired: some rows come, some go, some only change.
    changed = [
        {**profiles[0], "xpath": "//p"},
        {**profiles[1], "destination": "elsewhere"},
        {**profiles[2], "valid_from": str(SECOND)},
        *profiles[6:],
        *new[:3],
    ]
    declare(lake, tmp_path, changed)
    run(spark, lake, FIRST, SECOND)
    check(FIRST, SECOND)

    # Late documents of an old date are a batch of their own.
    late = write_sample(tmp_path / "late", documents=20, seed=99)
    ingest(spark, lake, FIRST, late.documents)
    reports = run(spark, lake, FIRST)
    assert reports["encode_documents"].counts["encoded"] < reports["encode_documents"].counts["documents"]
    assert published(lake) == reference(lake)
    assert len({row["batch"] for row in rows(lake, "ledger") if row["match_date"] == FIRST}) == 2

    # Nothing is left to ask for: an empty result still replaces.
    declare(lake, tmp_path, [{"profile_id": "n", "xpath": "//nothing"}])
    run(spark, lake, FIRST, SECOND)
    assert published(lake) == set()


def test_the_same_however_it_is_run(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    """Partitions, order of input, index on and off, broadcast and sharded, engines: the same answers."""
    ingest_two_dates(spark, lake, tmp_path)
    declare(lake, tmp_path, [*make_profiles(40, seed=3), {"profile_id": "always", "xpath": "true()"}])
    run(spark, lake, FIRST, SECOND)
    expected = answers(lake)
    assert published(lake) == reference(lake) != set()
    again = tmp_path / "again"
    assert from_scratch(spark, lake, again, FIRST, SECOND, partition=3) == expected
    assert len({row["partition"] for row in rows(str(again), "index_partitions")}) > 3
    assert from_scratch(spark, lake, again, SECOND, FIRST, shard=20) == expected
    assert from_scratch(spark, lake, again, FIRST, SECOND, index=False) == expected
    assert from_scratch(spark, lake, again, FIRST, SECOND, engine="b-boxfilter") == expected
    run(spark, str(again), FIRST, SECOND, full=True, shard=30, at_once=1)
    assert answers(str(again)) == expected
    run(spark, str(again), FIRST, SECOND, full=True, shard=7, engine="nfa+top-down-pruned")
    assert published(str(again)) == published(lake)  # by other witnesses, where a profile has alternatives

    one, many = tmp_path / "one", tmp_path / "many"
    copied = _shuffled(lake, tmp_path / "files")
    for target, paths in ((one, copied), (many, copied[::-1])):
        for date, path in paths:
            ingest(spark, str(target), date, path)
        declare(str(target), tmp_path, [*make_profiles(40, seed=3), {"profile_id": "always", "xpath": "true()"}])
        run(spark, str(target), FIRST, SECOND)
    assert answers(str(one)) == answers(str(many))
    assert published(str(one)) == published(lake)


def _shuffled(lake: str, folder: Path) -> list[tuple[object, Path]]:
    """The documents as files, a few per folder, so that the order of ingest can be turned round."""
    made = []
    for number, row in enumerate(sorted(rows(lake, "documents"), key=lambda row: str(row["document_id"]))):
        target = folder / str(row["ingest_date"]) / f"{number % 3}"
        target.mkdir(parents=True, exist_ok=True)
        (target / f"{number}.xml").write_bytes(row["content"])  # type: ignore[arg-type]
        made.append((row["ingest_date"], target))
    return list(dict.fromkeys(made))


def test_new_documents_are_found_without_comparing_all(
    spark: SparkSession, lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[dt.date] = []
    compare = encode_documents.unencoded

    def counted(lake: str, date: dt.date, version: int) -> pa.ChunkedArray:
        compared.append(date)
        return compare(lake, date, version)

    def encoded(date: dt.date) -> dict[str, int]:
        compared.clear()
        counts = encode_documents.run(spark, encode_documents.Config(lake=lake, date=date, run_id="t")).counts
        return {name: counts[name] for name in ("documents", "encoded")}

    monkeypatch.setattr(encode_documents, "unencoded", counted)
    for number, date in enumerate((FIRST, SECOND, FIRST)):
        (tmp_path / f"{number}.xml").write_text(f"<r><n{number}/></r>")
        ingest(spark, lake, date, tmp_path / f"{number}.xml")
        if number:
            assert encoded(FIRST) == {"documents": 1 + number // 2, "encoded": number // 2}
            assert compared == [FIRST] * (number // 2)  # another date is no reason
        assert encoded(date) == {"documents": 1 + number // 2, "encoded": int(number < 2)}
        assert encoded(date) == {"documents": 1 + number // 2, "encoded": 0}
        assert not compared
    require_table(lake, "encoded_documents").restore(2)  # before the last batch
    assert encoded(FIRST) == {"documents": 2, "encoded": 1}
    assert len(rows(lake, "encoded_documents")) == 3


def test_validity_decides_by_date(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    validity = [
        {"profile_id": "until", "xpath": "/a", "valid_to": str(FIRST)},
        {"profile_id": "from", "xpath": "/a", "valid_from": str(FIRST)},
        {"profile_id": "later", "xpath": "/a", "valid_from": str(SECOND)},
    ]
    declare(lake, tmp_path, validity)
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    run(spark, lake, FIRST)
    assert {profile for _, profile in published(lake)} == {"from"}
    row = rows(lake, "matches")[0]
    assert (row["source"], row["witness"], row["profile_version"]) == (str(tmp_path / "a.xml"), "/a", 1)


def test_rejected_profiles_are_rows(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    declare(lake, tmp_path, [{"profile_id": "bad", "xpath": "//a["}, {"profile_id": "good", "xpath": "//a"}])
    run(spark, lake, FIRST)
    by_id = {row["profile_id"]: row for row in rows(lake, "profile_patterns")}
    assert by_id["bad"]["class"] == "rejected"
    assert by_id["bad"]["reason"] == "syntax_error"
    assert by_id["bad"]["column"] == 5
    assert {profile for _, profile in published(lake)} == {"good"}


def test_a_filtered_backfill_leaves_the_rest_for_later(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    ingest_two_dates(spark, lake, tmp_path, documents=20)
    profiles = make_profiles(20, seed=5)
    declare(lake, tmp_path, profiles)
    run(spark, lake, FIRST, SECOND)
    new = [{"profile_id": f"{kind}{k}", "xpath": xpath} for kind in "xy" for k, xpath in enumerate(("//p", "/*"))]
    declare(lake, tmp_path, [*profiles, *new])
    run(spark, lake, FIRST, SECOND, only="x*")
    expected = reference(lake)
    assert published(lake) == {pair for pair in expected if not pair[1].startswith("y")}
    reports = run(spark, lake, FIRST, SECOND)
    assert reports["match_documents"].counts["profiles asked"] == 2
    assert published(lake) == expected
    versions = [entry["version"] for entry in deltalake.DeltaTable(f"{lake}/matches").history()]
    assert max(versions) > 3


def test_pairs_given_up_are_rows(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    """Neither a match nor a silent miss, and they stay until somebody asks again."""
    (tmp_path / "wide.xml").write_text("<r>" + "<a>1</a>" * 40_000 + "<b/></r>")
    ingest(spark, lake, FIRST, tmp_path / "wide.xml")
    slow = {"profile_id": "slow", "xpath": "//a[not(//z)][count(../a) = 3]"}
    declare(lake, tmp_path, [slow, {"profile_id": "quick", "xpath": "//b"}])
    limits = EvaluationLimits(pair_seconds=0.5, document_seconds=1.0)
    reports = run(spark, lake, FIRST, evaluation=limits)
    assert reports["match_documents"].counts["undecided"] == 1
    (row,) = rows(lake, "undecided")
    assert (row["profile_id"], row["profile_version"], row["run_id"]) == ("slow", 1, "test")
    assert row["reason"]
    assert {profile for _, profile in published(lake)} == {"quick"}
    declare(lake, tmp_path, [slow, {"profile_id": "quick", "xpath": "//b"}, {"profile_id": "new", "xpath": "/r"}])
    run(spark, lake, FIRST, evaluation=limits)
    assert len(rows(lake, "undecided")) == 1
    declare(lake, tmp_path, [{"profile_id": "quick", "xpath": "//b"}])
    run(spark, lake, FIRST, evaluation=limits)
    assert rows(lake, "undecided") == []


def test_a_date_that_fails_its_gate_does_not_stop_the_others(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    ingest_two_dates(spark, lake, tmp_path)
    declare(lake, tmp_path, make_profiles(10, seed=4))

    def audit(date: dt.date, version: int) -> RunReport:
        if date == FIRST:
            raise DataError("gate_failed", f"{date} is wrong in version {version}")
        return RunReport("audit_matches")

    config = pipeline.Config(lake=lake, dates=(FIRST, SECOND), run_id="test")
    with pytest.raises(DataError, match=f"gate_failed: {FIRST} is wrong"):
        list(pipeline.run(spark, config, pipeline.Gate(audit)))
    assert {row["match_date"] for row in rows(lake, "matches")} == {SECOND}
    assert list(unpublished(lake)) == [FIRST]


def test_nothing_staged_is_nothing_unpublished(tmp_path: Path) -> None:
    assert unpublished(str(tmp_path)) == {}


def test_a_version_that_was_superseded_before_it_was_encoded_stays_so(
    spark: SparkSession, lake: str, tmp_path: Path
) -> None:
    for xpath in ("//a", "//b"):
        declare(lake, tmp_path, [{"profile_id": "p", "xpath": xpath}])
    report = encode_profiles.run(spark, encode_profiles.Config(lake=lake, run_id="test"))
    assert report.counts["profiles"] == 1
    assert [row["profile_version"] for row in rows(lake, "profile_patterns")] == [2]
