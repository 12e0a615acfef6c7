"""What others do between two steps, and what people do to tables, loses no match and doubles none."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.errors import DataError
from winnow.generate.sample import make_profiles, write_sample
from winnow.jobs import encode_documents, maintain, match_documents, publish_matches
from winnow.jobs import run as pipeline
from winnow.tables import Lake
from winnow.tables.small import read_small

from .lakes import FIRST, SECOND, answers, declare, ingest, published, reference, rows, run
from .slow import nightly

pytestmark = pytest.mark.spark

P: dict[str, object] = {"profile_id": "p", "xpath": "/r/a"}
Q: dict[str, object] = {"profile_id": "q", "xpath": "//b"}
R: dict[str, object] = {"profile_id": "r", "xpath": "/r"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "my läke #1"))


def bring(spark: SparkSession, lake: Lake, folder: Path, **texts: str) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / "in" / f"{name}.xml").write_text(text)
    ingest(spark, lake, FIRST, folder / "in")


def encode(spark: SparkSession, lake: Lake, run_id: str = "other") -> None:
    encode_documents.run(spark, encode_documents.Config(lake=lake, date=FIRST, run_id=pipeline.new_run_id(run_id)))


def check(lake: Lake, pairs: int) -> None:
    assert published(lake) == reference(lake)
    assert len(published(lake)) == pairs


def between_plan_and_match(monkeypatch: pytest.MonkeyPatch, interrupt: Callable[[], None]) -> None:
    """Somebody does this once, after a run has decided what it asks and before it asks."""
    require = match_documents.require_joined
    interruptions = [interrupt]

    def interrupted(*arguments: object, **versions: int) -> object:
        if interruptions:
            interruptions.pop()()
        return require(*arguments, **versions)  # type: ignore[arg-type]

    monkeypatch.setattr(match_documents, "require_joined", interrupted)


@nightly
def test_a_batch_that_came_after_planning_is_left_to_the_next_run(
    spark: SparkSession, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(spark, lake, tmp_path, [P])

    def interrupt() -> None:
        bring(spark, lake, tmp_path, two="<r><a/><a/></r>")
        encode(spark, lake)

    between_plan_and_match(monkeypatch, interrupt)
    assert run(spark, lake, FIRST)["match_documents"].counts["documents"] == 1
    assert len(published(lake)) == 1
    run(spark, lake, FIRST)
    check(lake, 2)


@nightly
def test_a_profile_revived_after_planning_is_asked_by_the_next_run(
    spark: SparkSession, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(spark, lake, tmp_path, [P, Q])
    run(spark, lake, FIRST)
    declare(spark, lake, tmp_path, [P])  # q retires, and its branch leaves the index
    bring(spark, lake, tmp_path, two="<r><c><b/></c></r>")
    between_plan_and_match(monkeypatch, lambda: declare(spark, lake, tmp_path, [P, Q]))
    run(spark, lake, FIRST)
    assert {profile for _, profile in published(lake)} == {"p"}
    run(spark, lake, FIRST)
    check(lake, 2)


@nightly
def test_maintenance_of_one_table_leaves_the_index_usable(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    declare(spark, lake, tmp_path, [P, Q])
    for name, text in (("one", "<r><a/></r>"), ("two", "<r><c><b/></c></r>"), ("three", "<r><d><b/></d></r>")):
        bring(spark, lake, tmp_path, **{name: text})
        run(spark, lake, FIRST)
    (report,) = maintain.run(spark, maintain.Config(lake=lake, tables=("path_branches",)))
    assert report.counts["files before"] > report.counts["files"] == 1
    bring(spark, lake, tmp_path, four="<r><d><b/><b/></d></r>")  # of known paths
    run(spark, lake, FIRST)
    check(lake, 4)


def test_the_first_error_is_the_one_that_is_told(spark: SparkSession, lake: Lake) -> None:
    with pytest.raises(DataError, match="table_missing"):
        run(spark, lake, FIRST)


@nightly
def test_encodings_that_were_deleted_are_made_anew_and_answered_once(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    declare(spark, lake, tmp_path, [P, Q])
    for name, text in (("one", "<r><a/></r>"), ("two", "<r><c><b/></c></r>")):
        bring(spark, lake, tmp_path, **{name: text})
        run(spark, lake, FIRST)
    shutil.rmtree(lake.folder / "encoded_documents")
    run(spark, lake, FIRST)
    check(lake, 2)
    shutil.rmtree(lake.folder / "encoded_documents")
    declare(spark, lake, tmp_path, [P, Q, {"profile_id": "v", "xpath": "//c[b = '']"}])
    run(spark, lake, FIRST)
    check(lake, 3)


@nightly
def test_documents_are_encoded_once_whoever_encodes_them(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    bring(spark, lake, tmp_path, one="<r><a/></r>", two="<r><c/></r>")
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda _: encode(spark, lake), range(3)))
    encoded = [row["document_id"] for row in rows(lake, "encoded_documents")]
    assert sorted(map(str, encoded)) == sorted(str(row["document_id"]) for row in rows(lake, "documents"))
    assert {row["path"] for row in rows(lake, "paths")} == {"/r", "/r/a", "/r/c"}
    assert len(rows(lake, "paths")) == 3


@nightly
@pytest.mark.parametrize("lost", ["files", "tables"])
def test_an_index_that_was_lost_is_built_anew(spark: SparkSession, lake: Lake, tmp_path: Path, lost: str) -> None:
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    for profiles in ([P], [P, R]):
        declare(spark, lake, tmp_path, profiles)
        run(spark, lake, FIRST)
    if lost == "files":
        for file in (lake.folder / "envelope_nodes").rglob("*.parquet"):
            file.unlink()
    else:
        for table in ("envelope_nodes", "index_partitions"):
            shutil.rmtree(lake.folder / table)
    declare(spark, lake, tmp_path, [P, Q, R])
    bring(spark, lake, tmp_path, two="<r><c><b/></c></r>")
    run(spark, lake, FIRST)
    check(lake, 4)


def test_an_answer_without_a_place_is_an_error(spark: SparkSession) -> None:
    stage = spark.createDataFrame(
        [("known", "r", FIRST, [7], ["/a"]), ("lost", "r", FIRST, [7], ["/a"])],
        "document_id string, run_id string, match_date date, profiles array<long>, witnesses array<string>",
    )
    profiles = spark.createDataFrame(
        [(7, "p", 1, "s", "d")],
        "profile_key long, profile_id string, profile_version int, subscriber string, destination string",
    )
    sources = spark.createDataFrame([("known", "file")], "document_id string, source string")
    known = publish_matches.expand(stage.where("document_id = 'known'"), profiles, sources)
    assert [row["source"] for row in read_small(known)] == ["file"]
    with pytest.raises(Exception, match="document lost has no place in document_sources"):
        read_small(publish_matches.expand(stage, profiles, sources))


@nightly
def test_a_document_without_a_place_is_told_and_nothing_is_published(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    """Once the place is known again, the next run publishes what was open."""
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(spark, lake, tmp_path, [P])
    lake.open(spark).delete("document_sources", "true")
    with pytest.raises(Exception, match="no place in document_sources"):
        run(spark, lake, FIRST)
    assert published(lake) == set()
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    run(spark, lake, FIRST)
    check(lake, 1)


@nightly
def test_of_two_publications_of_one_state_the_first_counts(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """Two runs have staged answers to the same question: the second would add its rows once more."""
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(spark, lake, tmp_path, [P])
    config = pipeline.Config(lake=lake, dates=(FIRST,), run_id=pipeline.new_run_id())
    list(pipeline.prepare(spark, config))
    names = [pipeline.new_run_id(name) for name in ("one", "other")]
    for name in names:
        match_documents.run(spark, match_documents.Config(lake=lake, dates=(FIRST,), run_id=name))
    first, second = (publish_matches.Config(lake=lake, date=FIRST, run_id=name) for name in names)
    publish_matches.run(spark, first)
    before = answers(lake)
    publish_matches.run(spark, first)
    assert answers(lake) == before  # publishing twice changes nothing
    with pytest.raises(Exception, match="interval_moved"):
        publish_matches.run(spark, second)
    assert answers(lake) == before
    check(lake, 1)


@nightly
def test_all_at_once_is_as_one_after_the_other(spark: SparkSession, lake_copy: Lake, tmp_path: Path) -> None:
    """Two runs, an ingest, other profiles and maintenance in threads of one session; then a run finds what is left."""
    after = Lake(str(shutil.copytree(lake_copy.folder, tmp_path / "after")))
    late = write_sample(tmp_path / "late", documents=20, seed=7).documents

    def steps(lake: Lake) -> list[Callable[[], object]]:
        return [
            lambda: ingest(spark, lake, FIRST, late),
            lambda: declare(spark, lake, tmp_path, [*list(make_profiles(40, seed=2))[5:], P, Q]),
            lambda: run(spark, lake, FIRST, SECOND),
            lambda: run(spark, lake, FIRST, SECOND),
            lambda: list(maintain.run(spark, maintain.Config(lake=lake))),
        ]

    with ThreadPoolExecutor(5) as threads:
        for done in [threads.submit(step) for step in steps(lake_copy)]:
            done.result()
    run(spark, lake_copy, FIRST, SECOND)
    for step in steps(after):
        step()
    assert published(lake_copy) == published(after) == reference(after)
    assert answers(lake_copy) == answers(after)
    for table in ("documents", "document_sources", "quarantine"):
        assert len(rows(lake_copy, table)) == len(rows(after, table))
