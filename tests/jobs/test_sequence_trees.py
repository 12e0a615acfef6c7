"""SUBSEQUENCE trees: persisted, changed in place, and enough for the engines of the BoXFilter paper to answer from."""

import dataclasses
import datetime as dt
import shutil
from itertools import permutations
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow import Matcher
from winnow.errors import WinnowError
from winnow.generate.sample import make_profiles
from winnow.jobs import audit_matches, build_sequence_trees, encode_profiles, match_documents
from winnow.jobs import run as pipeline
from winnow.jobs.index_state import SUBSEQUENCE, index_state, trees
from winnow.jobs.report import RunReport
from winnow.report.gather import gather
from winnow.tables import Lake

from .lakes import FIRST, SECOND, Pairs, declare, ingest_two_dates, published, reference, rows, run
from .slow import nightly

pytestmark = pytest.mark.spark
ENGINE = "b-boxfilter"
LABELS = (
    "nitf", "head", "docdata", "urgency", "body", "body.content", "location", "p", "em", "keyword", "caption", "trade",
    "leg", "settle",
)  # fmt: skip
PAIRS: list[dict[str, object]] = [
    {"profile_id": f"pair-{upper}-{lower}", "xpath": f"//{upper}//{lower}"} for upper, lower in permutations(LABELS, 2)
]
PROFILES = [*make_profiles(40, seed=2), *PAIRS]  # enough for trees with inner nodes
PARTITION = 80
LEVELS = (
    "pairs routed", "nodes stored", "nodes read", "node pairs", "leaf pairs", "candidates", "verified", "matches",
)  # fmt: skip
NEW: list[dict[str, object]] = [
    {"profile_id": "n1", "xpath": "//p", "destination": "desk"},
    {"profile_id": "n2", "xpath": "//p[contains(., 'a')]"},
    {"profile_id": "n3", "xpath": "//p[not(zz)]"},
    {"profile_id": "n4", "xpath": "/*"},
    {"profile_id": "n5", "xpath": "//nothing/at/all"},
    {"profile_id": "n6", "xpath": "true()"},
    {"profile_id": "n7", "xpath": "//p | //Party"},
]


def in_memory(lake: Lake, engine: str, *dates: dt.date, only: str = "") -> tuple[Pairs, int]:
    """The answers of an engine that has all profiles and documents before it, and how many candidates it had."""
    matcher = Matcher(
        (
            (str(row["profile_id"]), str(row["xpath"]), dict(row["namespaces"]), bool(row["ordered"]))  # type: ignore[call-overload]
            for row in rows(lake, "profiles")
            if row["state"] == "active" and str(row["profile_id"]).startswith(only)
        ),
        engine=engine,
    )
    documents = [row for row in rows(lake, "documents") if row["ingest_date"] in dates]
    found = matcher.match((str(row["document_id"]), row["content"]) for row in documents)
    return {(str(match.document), match.profile_id) for match in found}, matcher.funnel.candidates


def test_run_change_retire_backfill(spark: SparkSession, tmp_path: Path) -> None:
    """Every step equals libxml2, its candidates those of the same engine in memory; no path is joined with anything;
    only partitions with new profiles are read for them.
    """
    lake = Lake(str(tmp_path / "lake"))
    profiles = [*make_profiles(40, seed=1), *PAIRS[:60]]
    ingest_two_dates(spark, lake, tmp_path, documents=10)
    declare(spark, lake, tmp_path, profiles)
    reports = run(spark, lake, FIRST, engine=ENGINE, partition=30)
    assert "join_paths" not in reports
    assert not (lake.folder / "path_joins").exists()
    assert reports["build_sequence_trees"].counts["partitions"] > 2
    matched = reports["match_documents"].counts
    assert (published(lake), matched["candidates"]) == in_memory(lake, ENGINE, FIRST)
    metrics = {row["metric"]: row["value"] for row in rows(lake, "run_metrics") if row["job"] == "match_documents"}
    assert {name: metrics[name] for name in LEVELS} == {name: matched[name] for name in LEVELS}
    assert matched["documents"] * matched["profiles asked"] > matched["pairs routed"] > matched["candidates"]
    assert all(matched[name] > 0 for name in LEVELS)
    told = {bar.label: bar.value for bar in gather(lake, FIRST).pruning}
    assert told["pairs routed to an index"] == matched["pairs routed"]
    assert (told["node pairs"], told["leaf pairs"]) == (matched["node pairs"], matched["leaf pairs"])
    reports = run(spark, lake, SECOND, engine="boxfilter", partition=30)
    assert reports["match_documents"].counts["candidates"] == in_memory(lake, "boxfilter", SECOND)[1]
    assert published(lake) == reference(lake) != set()

    tables = lake.open(spark)
    before = index_state(tables, SUBSEQUENCE)
    declare(spark, lake, tmp_path, [*profiles[:-10], *NEW])
    reports = run(spark, lake, FIRST, SECOND, engine=ENGINE, partition=30)
    counts = reports["build_sequence_trees"].counts
    assert counts["inserted"] > 0 < counts["deleted"]
    matched = reports["match_documents"].counts
    assert matched["profiles asked"] == len(NEW)
    assert matched["candidates"] == in_memory(lake, ENGINE, FIRST, SECOND, only="n")[1]
    assert 0 < matched["partitions read"] < matched["partitions"]
    assert published(lake) == reference(lake)
    after = index_state(tables, SUBSEQUENCE)
    assert before
    assert after
    assert before.version == after.version


@pytest.fixture(scope="module")
def indexed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Documents, profiles and trees of several partitions; nothing is matched yet."""
    folder = tmp_path_factory.mktemp("indexed")
    lake = Lake(str(folder / "lake"))
    ingest_two_dates(spark, lake, folder, documents=20)
    declare(spark, lake, folder, PROFILES)
    config = pipeline.Config(lake=lake, dates=(FIRST,), run_id="indexed", engine=ENGINE, partition=PARTITION)
    list(pipeline.prepare(spark, config))
    return lake


@pytest.fixture
def lake(indexed: Lake, tmp_path: Path) -> Lake:
    shutil.copytree(indexed.folder, tmp_path / "lake")
    return Lake(str(tmp_path / "lake"))


def match(spark: SparkSession, lake: Lake) -> None:
    run_id = pipeline.new_run_id("test")
    match_documents.run(spark, match_documents.Config(lake=lake, dates=(FIRST,), run_id=run_id, engine=ENGINE))


def rewrite(spark: SparkSession, lake: Lake, change: "dict[str, str] | str") -> None:
    """Changes the rows of some trees, or removes them, behind the program's back."""
    tables = lake.open(spark)
    if isinstance(change, str):
        spark.sql(f"DELETE FROM {lake.table('envelope_nodes')} WHERE {change}")
        return
    rows: DataFrame = tables.read("envelope_nodes").withColumns({name: sf.expr(own) for name, own in change.items()})
    rows.localCheckpoint().write.format("delta").mode("overwrite").save(f"{lake.location}/envelope_nodes")


def test_only_partitions_that_change_are_written(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    tables = lake.open(spark)
    before = index_state(tables, SUBSEQUENCE)
    declare(spark, lake, tmp_path, [*PROFILES, {"profile_id": "n8", "xpath": "//entirely/new"}])
    encode_profiles.run(spark, encode_profiles.Config(lake=lake))
    config = build_sequence_trees.Config(lake=lake, run_id="one", partition=PARTITION)
    built = build_sequence_trees.run(spark, config)
    assert (built.counts["inserted"], built.counts["deleted"]) == (1, 0)
    after = index_state(tables, SUBSEQUENCE)
    assert before
    assert after
    written = {row["build_id"] for row in after.partitions} - {row["build_id"] for row in before.partitions}
    assert [row["build_id"] in written for row in after.partitions].count(True) == 1


@nightly
def test_the_other_index_lives_beside_it(spark: SparkSession, lake: Lake) -> None:
    tables = lake.open(spark)
    before = index_state(tables, SUBSEQUENCE)
    run(spark, lake, FIRST, SECOND)
    assert published(lake) == reference(lake) != set()
    assert before
    assert index_state(tables, SUBSEQUENCE) == before._replace(
        table_version=tables.version("index_partitions"),
        nodes_version=tables.version("envelope_nodes"),
        symbols_version=tables.version("index_symbols"),
    )


IS_INNER = "level = 1 AND size(low) > 1"
CASES: dict[str, tuple[dict[str, str] | str, str]] = {
    "all trees are gone": ("true", "index_damaged.*is gone"),
    "a partition is missing": ("partition = 1", "index_damaged.*partition 1.*is gone"),
    "sequences are missing": ("level = 0 AND partition = 0", "index_damaged.*partition 0 has 0 sequences"),
    "a sequence is another": (
        {"high": "if(level = 0, transform(high, p -> p + 1), high)"},
        "index_damaged.*checksum",
    ),
    "an envelope is narrower": (
        {"low": f"if({IS_INNER}, transform(low, (p, i) -> if(i = 1, p + 1, p)), low)"},
        "index_damaged.*does not cover",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_damaged_is_said(spark: SparkSession, lake: Lake, case: str) -> None:
    change, words = CASES[case]
    rewrite(spark, lake, change)
    with pytest.raises(Exception, match=words) as caught:
        match(spark, lake)
    assert pipeline.code_of(caught.value) == "index_damaged"
    assert "run `winnow build-index --engine boxfilter --rebuild`" in str(caught.value)


def test_trees_that_were_never_built_are_missed(spark: SparkSession, lake: Lake) -> None:
    spark.sql(f"DELETE FROM {lake.table('index_partitions')}")
    with pytest.raises(WinnowError, match=r"index_missing.*run `winnow build-index --engine boxfilter` first"):
        match(spark, lake)


def test_a_damaged_tree_is_packed_anew(spark: SparkSession, lake: Lake) -> None:
    rewrite(spark, lake, "partition = 1")
    built = build_sequence_trees.run(spark, build_sequence_trees.Config(lake=lake, run_id="again"))
    assert built.counts["index version"] == 2
    match(spark, lake)


def test_trees_of_other_profiles_are_refused(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    declare(spark, lake, tmp_path, [*PROFILES, *NEW])
    encode_profiles.run(spark, encode_profiles.Config(lake=lake))
    with pytest.raises(WinnowError, match=r"index_stale.*version") as caught:
        match(spark, lake)
    assert "build-index --engine boxfilter" in str(caught.value)


def staged_answers(spark: SparkSession, lake: Lake, run_id: str) -> tuple[str, int]:
    """What a run has answered, and how many tests of nodes and pairs of sequences it took."""
    options = {"run_id": run_id, "engine": ENGINE, "full": True}
    report = match_documents.run(spark, match_documents.Config(lake=lake, dates=(FIRST,), **options))  # type: ignore[arg-type]
    stage = lake.open(spark).read("matches_staged").where(sf.col("run_id") == run_id)
    pairs = stage.select("document_id", sf.explode("profiles").alias("profile")).toPandas()
    return str(sorted(map(tuple, pairs.to_numpy()))), report.counts["node pairs"] + report.counts["leaf pairs"]


def test_a_wider_envelope_costs_comparisons_and_changes_no_answer(spark: SparkSession, lake: Lake) -> None:
    expected, cost = staged_answers(spark, lake, "as-built")
    widened = {"low": "if(level > 0, transform(low, (p, i) -> if(i = 0, 1073741824, p)), low)"}
    rewrite(spark, lake, widened | {"high": "if(level > 0, transform(high, (p, i) -> if(i = 0, p + 40, p)), high)"})
    found, more = staged_answers(spark, lake, "widened")
    assert found == expected != "[]"
    assert more > cost > 0


@nightly
def test_the_gate_lets_through_what_was_routed(spark: SparkSession, lake: Lake) -> None:
    """New documents have a row for the first partition, and for the others where they have answers."""

    def gate(date: dt.date, run_id: str) -> RunReport:
        return audit_matches.run(spark, audit_matches.Config(lake=lake, date=date, run_id=run_id))

    config = pipeline.Config(lake=lake, dates=(FIRST,), run_id="gated", engine=ENGINE, partition=PARTITION)
    reports = {report.job: report for report in pipeline.run(spark, config, gate)}
    assert reports["audit_matches"].counts["expectations"] > 0
    assert reports["match_documents"].counts["partitions read"] > 2
    assert {row["document_id"] for row in rows(lake, "matches")} != set()


def test_rows_say_what_they_hold(spark: SparkSession, indexed: Lake) -> None:
    tables = indexed.open(spark)
    index = index_state(tables, SUBSEQUENCE)
    assert index
    assert len(index.partitions) > 2
    firsts = [row["first_column"] for row in index.partitions]
    assert firsts == sorted(firsts)
    nodes = trees(tables, index)
    assert {row["relation"] for row in nodes.select("relation").distinct().collect()} == {SUBSEQUENCE}
    held = {row["partition"]: row["count"] for row in nodes.where("level = 0").groupBy("partition").count().collect()}
    assert held == {row["partition"]: row["branches"] for row in index.partitions if row["branches"]}
    again = build_sequence_trees.run(
        spark, build_sequence_trees.Config(lake=indexed, run_id="again", partition=PARTITION)
    )
    assert again.counts["inserted"] == again.counts["deleted"] == 0
    assert dataclasses.is_dataclass(again)
