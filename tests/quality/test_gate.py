"""The gate lets right answers pass, and stops each seeded defect before anything is published."""

import datetime as dt
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from lxml import etree
from pyspark.sql import SparkSession

from checksums import by_delta_rs, by_duckdb, by_spark
from winnow.cli.main import main
from winnow.errors import DataError
from winnow.generate.sample import make, make_profiles
from winnow.lake.parts import Part
from winnow.lake.store import commit_note, ensure_tables, read_rows, replace_partition, require_table, write_rows
from winnow.pipeline import (
    build_index,
    encode_documents,
    encode_profiles,
    ingest_documents,
    ingest_profiles,
    join_paths,
    match_documents,
    publish_matches,
)
from winnow.pipeline import run as pipeline
from winnow.quality import gate

pytestmark = pytest.mark.spark

DAY, EMPTY_DAY = dt.date(2026, 11, 15), dt.date(2026, 11, 16)
PROFILES: list[dict[str, Any]] = [
    *make_profiles(25, seed=1),
    {"profile_id": "bad", "xpath": "//a["},
    {"profile_id": "ordered", "xpath": "//p[em]/text()", "ordered": True},
    {"profile_id": "hybrid", "xpath": "//p[not(em)]"},
    {"profile_id": "everywhere", "xpath": "/*"},
    {"profile_id": "captions", "xpath": "//caption"},
]


class Lake(NamedTuple):
    """A lake with the answers of one day staged, and nothing published."""

    path: str
    staged: int

    def rows(self, table: str, **where: Any) -> pa.Table:
        return read_rows(self.path, table, where=where)

    def results(self) -> dict[str, dict[str, Any]]:
        return {row["check"]: row for row in self.rows("quality_results").to_pylist()}


def declare(lake: str, folder: Path, profiles: list[dict[str, Any]]) -> None:
    (folder / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in profiles))
    ingest_profiles.run(ingest_profiles.Config(lake=lake, file=str(folder / "profiles.jsonl"), retire_missing=True))


def ingest(spark: SparkSession, lake: str, folder: Path, texts: dict[str, str], date: dt.date = DAY) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    ingest_documents.run(spark, ingest_documents.Config(lake=lake, paths=(str(folder),), date=date))


def stage(spark: SparkSession, lake: str) -> int:
    _, staged = match_documents.run(spark, match_documents.Config(lake=lake, dates=(DAY,), run_id="test"))
    return staged[DAY]


@pytest.fixture(scope="module")
def encoded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Documents and profiles, encoded; no index yet."""
    folder = tmp_path_factory.mktemp("gate")
    lake = str(folder / "lake")
    declare(lake, folder, PROFILES)
    texts = {name: text for kind in ("news", "invoice", "trade") for name, text in make(kind, 8, seed=3)}
    ingest(spark, lake, folder / "documents", texts | {"broken.xml": "<a>"})
    encode_documents.run(spark, encode_documents.Config(lake=lake, date=DAY, run_id="test"))
    encode_profiles.run(spark, encode_profiles.Config(lake=lake, run_id="test"))
    return lake


@pytest.fixture(scope="module")
def joined(spark: SparkSession, encoded: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    lake = str(shutil.copytree(encoded, tmp_path_factory.mktemp("joined") / "lake"))
    build_index.run(build_index.Config(lake=lake, run_id="test", partition=8))
    join_paths.run(spark, join_paths.Config(lake=lake, run_id="test"))
    return lake


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, joined: str, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = str(shutil.copytree(joined, tmp_path_factory.mktemp("prepared") / "lake"))
    return Lake(lake, stage(spark, lake))


@pytest.fixture
def ready(prepared: Lake, lake: str) -> Lake:
    """A copy of its own for each test."""
    return prepared._replace(path=str(shutil.copytree(prepared.path, lake)))


def audit(spark: SparkSession, lake: Lake, version: int | None = None, **rest: Any) -> dict[str, int]:
    """What stands before publishing, and publishing."""
    version = lake.staged if version is None else version
    config = gate.Config(lake=lake.path, date=DAY, staged_version=version, run_id="test", **rest)
    report = gate.run(spark, config)
    publish_matches.run(publish_matches.Config(lake=lake.path, date=DAY, staged_version=version, run_id="test"))
    return report.counts


def refused(spark: SparkSession, lake: Lake, version: int, *checks: str) -> str:
    """These checks and no others fail, all are kept, nothing is published."""
    with pytest.raises(DataError, match="gate_failed") as caught:
        audit(spark, lake, version)
    assert caught.value.exit_code == 65
    failed = {name for name, row in lake.results().items() if not row["success"] and row["severity"] == "critical"}
    assert failed == set(checks)
    assert all(f"- {name} (" in caught.value.message for name in checks)
    assert require_table(lake.path, "matches").version() == 0
    assert lake.rows("ledger").num_rows == 0
    return caught.value.message


def restage(lake: Lake, rows: pa.Table) -> int:
    """Other rows under the same note."""
    note = commit_note(lake.path, "matches_staged", lake.staged)
    parts = write_rows(lake.path, "matches_staged", rows, {"match_date": DAY})
    return replace_partition(lake.path, "matches_staged", parts, {"match_date": DAY}, note)


def changed(row: pa.Table, **values: Any) -> pa.Table:
    return pa.Table.from_pylist([row.to_pylist()[0] | values], schema=row.schema)


def test_right_answers_pass(spark: SparkSession, ready: Lake, tmp_path: Path) -> None:
    counts = audit(spark, ready)
    assert counts["passed"] == counts["checks"] > 20
    assert counts["warnings"] == 0
    documents, profiles = ready.rows("documents").num_rows, len(PROFILES) - 1
    assert counts["pairs evaluated again"] == documents * profiles  # all of them, they are few
    table = f"{ready.path}/quality_results"
    assert by_spark(spark, table) == by_duckdb(table) == by_delta_rs(table)
    assert "24 in; " not in ready.results()["documents_in"]["message"]  # one is in quarantine

    # The same once more, after the fact, by the command: the same rows.
    before = by_delta_rs(table)
    assert main(["audit", "--date", str(DAY), "--lake", ready.path, "--run-id", "test"]) == 0
    assert by_delta_rs(table) == before

    # More profiles, some of them at first, and more documents: what is added passes, too.
    new = [{"profile_id": "new-1", "xpath": "//hl1"}, {"profile_id": "new-2", "xpath": "//hedline"}]
    declare(ready.path, tmp_path, [*PROFILES, *new])
    run(spark, ready.path, DAY, only="new-1")
    assert commit_note(ready.path, "matches_staged")["mode"] == "append"
    assert {profile for _, profile in reference(ready) - published(ready)} == {"new-2"}
    ingest(spark, ready.path, tmp_path / "more", dict(make("news", 3, seed=5)))
    ingest(spark, ready.path, tmp_path / "none", {"none.xml": "<none/>"}, EMPTY_DAY)
    run(spark, ready.path, DAY)
    assert published(ready) == reference(ready)

    # Other profiles, and a day without matches: what is rewritten or empty passes.
    declare(ready.path, tmp_path, [{**PROFILES[0], "xpath": "//hl1"}, *PROFILES[1:-2]])
    run(spark, ready.path, DAY, EMPTY_DAY)
    assert published(ready) == reference(ready)
    assert commit_note(ready.path, "matches")["job"] == "publish_matches"
    assert ready.rows("matches", match_date=EMPTY_DAY).num_rows == 0
    assert {row["match_date"] for row in ready.rows("ledger").to_pylist()} == {DAY, EMPTY_DAY}


def run(spark: SparkSession, lake: str, *dates: dt.date, only: str = "*") -> None:
    config = pipeline.Config(lake=lake, dates=dates, run_id="run", only=only)
    reports = list(pipeline.run(spark, config, gate.gate(spark, lake, "run")))
    assert [report.job for report in reports].count("audit_matches") == len(dates)


def published(lake: Lake) -> set[tuple[str, str]]:
    rows = lake.rows("matches", match_date=DAY)
    return set(zip(rows.column("document_id").to_pylist(), rows.column("profile_id").to_pylist(), strict=True))


def reference(lake: Lake) -> set[tuple[str, str]]:
    rows = lake.rows("documents", ingest_date=DAY).to_pylist()
    trees = {row["document_id"]: etree.fromstring(row["content"]) for row in rows}
    found = set()
    for profile in lake.rows("profiles").to_pylist():
        if profile["state"] == "active" and profile["profile_id"] != "bad":
            xpath = etree.XPath(f"boolean({profile['xpath']})", namespaces=dict(profile["namespaces"]) or None)
            found |= {(name, profile["profile_id"]) for name, tree in trees.items() if xpath(tree)}
    return found


def repeated(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(3, 1)])


def false_match(rows: pa.Table) -> pa.Table:
    own = rows.filter(pc.equal(rows.column("profile_id"), "captions")).column("document_id").combine_chunks()
    other = rows.filter(pc.invert(pc.is_in(rows.column("document_id"), value_set=own)))
    return pa.concat_tables([rows, changed(other.slice(0, 1), profile_id="captions")])


def lost_match(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.not_equal(rows.column("profile_id"), "captions"))


def unknown_profile(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, changed(rows.slice(0, 1), profile_id="nobody")])


def other_version(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows.slice(1), changed(rows.slice(0, 1), profile_version=2)])


def unknown_document(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, changed(rows.slice(0, 1), document_id="0" * 64)])


@pytest.mark.parametrize(
    ("defect", "checks", "words"),
    [
        (repeated, ["keys_unique"], "1 staged rows that repeat"),
        (false_match, ["oracle_agrees"], "staged as a match, libxml2 says it does not match"),
        (lost_match, ["oracle_agrees"], "profile captions version 1: not staged, libxml2 says it matches"),
        (unknown_profile, ["profiles_known"], "profile nobody"),
        (other_version, ["profiles_known", "oracle_agrees"], "not asked"),
        (unknown_document, ["documents_known"], "document 0000"),
    ],
)
def test_wrong_rows(
    spark: SparkSession, ready: Lake, defect: Callable[[pa.Table], pa.Table], checks: list[str], words: str
) -> None:
    version = restage(ready, defect(read_rows(ready.path, "matches_staged", version=ready.staged)))
    assert words in refused(spark, ready, version, *checks)


def adopt_file(lake: Lake, rows: pa.Table) -> int:
    """A file that no writer of the lake would have written."""
    name = f"match_date={DAY}/part-seeded.parquet"
    pq.write_table(rows, f"{lake.path}/matches_staged/{name}")
    part = Part("matches_staged", name, rows.num_rows, Path(f"{lake.path}/matches_staged/{name}").stat().st_size)
    note = commit_note(lake.path, "matches_staged", lake.staged)
    table = require_table(lake.path, "matches_staged")
    action = deltalake.transaction.AddAction(
        part.path, part.size, {"match_date": str(DAY)}, 0, True, json.dumps({"numRecords": part.rows})
    )
    table.create_write_transaction(
        [action],
        "overwrite",
        table.schema(),
        partition_by=["match_date"],
        partition_filters=[("match_date", "=", str(DAY))],
        commit_properties=deltalake.CommitProperties({"userMetadata": json.dumps(note)}),
    )
    return int(require_table(lake.path, "matches_staged").version())


def test_rows_that_break_the_contract(spark: SparkSession, ready: Lake) -> None:
    rows = ready.rows("matches_staged").drop(["match_date"])
    loose = pa.schema([field.with_nullable(True) for field in rows.schema])
    broken = rows.to_pylist()
    broken[0]["witness"] = None
    broken[1]["profile_version"] = 0
    version = adopt_file(ready, pa.Table.from_pylist(broken, schema=loose))
    refused(spark, ready, version, "values_not_null", "constraints_hold", "profiles_known", "oracle_agrees")
    assert ready.results()["values_not_null"]["unexpected"] == 1


def test_files_without_a_column(spark: SparkSession, ready: Lake) -> None:
    version = adopt_file(ready, ready.rows("matches_staged").drop(["match_date", "witness"]))
    assert "other columns than the contract: witness" in refused(spark, ready, version, "files_fit_contract")


def test_a_document_that_was_not_asked(spark: SparkSession, joined: str, lake: str, tmp_path: Path) -> None:
    """One lost from its batch, one that was never in any."""
    shutil.copytree(joined, lake)
    rows = read_rows(lake, "encoded_documents")
    partition = {"ingest_date": DAY, "batch": rows.column("batch")[0].as_py()}
    parts = write_rows(lake, "encoded_documents", rows.slice(1).drop(["ingest_date", "batch"]), partition)
    replace_partition(lake, "encoded_documents", parts, partition, {})
    ingest(spark, lake, tmp_path / "late", {"late.xml": "<late/>"})
    ready = Lake(lake, stage(spark, lake))
    message = refused(
        spark, ready, ready.staged, "documents_encoded", "batches_whole", "documents_conserved", "oracle_agrees"
    )
    assert "2 documents of the interval that are in no batch" in message
    assert rows.column("document_id")[0].as_py() in message


def test_a_branch_that_is_lost_from_the_joined_paths(spark: SparkSession, joined: str, lake: str) -> None:
    shutil.copytree(joined, lake)
    lines = {row["line"]: row["branch"] for row in read_rows(lake, "branches").to_pylist()}
    rows = read_rows(lake, "path_branches")
    left = rows.filter(pc.not_equal(rows.column("branch"), lines["//caption"]))
    note = commit_note(lake, "path_branches")
    replace_partition(lake, "path_branches", write_rows(lake, "path_branches", left), {}, note)
    ready = Lake(lake, stage(spark, lake))
    assert "profile captions" in refused(spark, ready, ready.staged, "joins_right", "oracle_agrees")


def test_a_branch_that_is_lost_from_the_index(
    spark: SparkSession, encoded: str, lake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build that forgets one: through the whole run, which stops at the gate."""
    shutil.copytree(encoded, lake)
    lines = {row["line"]: row["branch"] for row in read_rows(lake, "branches").to_pylist()}
    wanted = build_index._wanted

    def forgetful(*arguments: Any) -> Any:
        numbers = wanted(*arguments)
        return numbers[numbers != lines["//caption"]]

    monkeypatch.setattr(build_index, "_wanted", forgetful)
    config = pipeline.Config(lake=lake, dates=(DAY,), run_id="run")
    with pytest.raises(DataError, match="gate_failed") as caught:
        list(pipeline.run(spark, config, gate.gate(spark, lake, "run")))
    assert "branches_in_one_partition" in caught.value.message
    assert "profile captions version 1: not staged" in caught.value.message
    assert require_table(lake, "matches").version() == 0


def test_a_tree_that_lost_rows(spark: SparkSession, ready: Lake) -> None:
    rows = ready.rows("envelope_nodes", index_version=1, partition=0)
    partition = {"index_version": 1, "partition": 0}
    kept = rows.slice(0, rows.num_rows - 1).drop(list(partition))
    parts = write_rows(ready.path, "envelope_nodes", kept, partition)
    nodes = replace_partition(ready.path, "envelope_nodes", parts, partition, {})
    note = commit_note(ready.path, "index_partitions") | {"envelope_nodes": nodes}
    roots = ready.rows("index_partitions").drop(["index_version"])
    where = {"index_version": 1}
    replace_partition(
        ready.path, "index_partitions", write_rows(ready.path, "index_partitions", roots, where), where, note
    )
    message = refused(spark, ready, ready.staged, "envelopes_sound", "branches_in_one_partition")
    assert "not those of one whole tree" in message


def test_a_warning_is_shown_and_does_not_block(
    spark: SparkSession, ready: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    row = {"document_id": "0" * 64, "profile_id": "hybrid", "profile_version": 1, "reason": "r", "message": "m"}
    parts = write_rows(ready.path, "undecided", pa.Table.from_pylist([row | {"run_id": "test"}]), {"match_date": DAY})
    replace_partition(ready.path, "undecided", parts, {"match_date": DAY}, {})
    for day in range(1, 4):  # days on which documents had a thousand matches each
        date = {"match_date": dt.date(2026, 10, day)}
        known = {"batch": "b", "documents": 1, "profile_set": "s", "staged_version": -1, "matches_version": 0}
        parts = write_rows(ready.path, "ledger", pa.Table.from_pylist([known | {"run_id": "r"}]), date)
        replace_partition(ready.path, "ledger", parts, date, {})
        many = pa.concat_tables([ready.rows("matches_staged").slice(0, 1)] * 1000)
        parts = write_rows(ready.path, "matches", many, date)
        replace_partition(ready.path, "matches", parts, date, {})
    counts = audit(spark, ready, sample=200)
    assert (counts["warnings"], counts["warning: pairs_decided"]) == (2, 1)
    assert 150 < counts["pairs evaluated again"] <= 200
    results = ready.results()
    assert not results["pairs_decided"]["success"]
    assert not results["volume_usual"]["success"]
    assert "a document; 1e+03 in the last 3 intervals" in results["volume_usual"]["message"]
    assert "pairs_decided" in caplog.text
    assert ready.rows("matches", match_date=DAY).num_rows == ready.rows("matches_staged").num_rows


def test_what_is_not_staged_or_has_moved_is_refused(spark: SparkSession, ready: Lake) -> None:
    ensure_tables(ready.path, ("quality_results",))
    with pytest.raises(DataError, match="did not stage"):
        audit(spark, ready, 0)
    assert main(["audit", "--date", "2020-01-01", "--lake", ready.path]) == 65
    assert ready.rows("quality_results").num_rows == 0
