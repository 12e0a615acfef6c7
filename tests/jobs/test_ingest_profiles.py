"""A profile set is declarative: the table follows the file."""

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as sf

from checksums import by_delta_rs, by_duckdb, by_spark
from winnow.encoding import Vocabulary
from winnow.errors import DataError
from winnow.index.branch_rows import write_branches
from winnow.index.lines import branches_of
from winnow.index.patterns import to_rows
from winnow.jobs import ingest_profiles, profile_versions
from winnow.tables import Lake, Tables, contract
from winnow.tables.small import read_small
from winnow.xpath import Rejected, compile_profile

from .slow import nightly

pytestmark = pytest.mark.spark

A = {"profile_id": "a", "xpath": "//a"}
B = {"profile_id": "b", "xpath": "//p:b", "namespaces": {"p": "u", "q": "v"}, "destination": "x", "subscriber": "me"}
C = {"profile_id": "c", "xpath": "//c", "ordered": True, "valid_from": "2026-01-01"}
ASKED = "xpath string, namespaces map<string,string>, ordered boolean"
STATES = ("profile_id", "profile_version", "xpath", "state")


def ingest(tables: Tables, file: Path, *rows: Any, retire_missing: bool = False) -> dict[str, int]:
    file.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    config = ingest_profiles.Config(lake=tables.lake, file=str(file), retire_missing=retire_missing)
    counts = ingest_profiles.run(tables.spark, config).counts
    return {name: count for name, count in counts.items() if count}


def profiles(tables: Tables, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in read_small(tables.read("profiles").select(*(columns or STATES))))


def rejected(tables: Tables) -> list[tuple[Any, ...]]:
    rows = tables.read("rejected_profiles").orderBy("source", "row_number")
    return [tuple(row) for row in read_small(rows.select("row_number", "profile_id", "reason"))]


def content(tables: Tables) -> dict[str, list[str]]:
    return {name: sorted(map(str, read_small(tables.read(name)))) for name in ingest_profiles.TABLES}


@nightly
def test_the_life_of_a_profile_set(tables: Tables, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    first = (A, B, C, "{bad\n", A)
    assert ingest(tables, file, *first) == {
        "read": 5, "new": 3, "rejected": 2, "rejected: duplicate_id": 1, "rejected: not_json": 1,
    }  # fmt: skip
    before = content(tables), tables.versions(*ingest_profiles.TABLES)
    assert ingest(tables, file, *first)["unchanged"] == 3
    assert (content(tables), tables.versions(*ingest_profiles.TABLES)) == before  # not even an empty commit

    # A changed meaning is a version; a changed destination is not; a rejected row is not missing; b is.
    counts = ingest(tables, file, {**A, "xpath": "//aa"}, {"profile_id": "c", "xpath": 5}, retire_missing=True)
    assert counts == {"read": 2, "changed": 1, "retired": 1, "rejected": 1, "rejected: bad_field": 1}
    assert profiles(tables) == [
        ("a", 1, "//a", "superseded"),
        ("a", 2, "//aa", "active"),
        ("b", 1, "//p:b", "retired"),
        ("c", 1, "//c", "active"),
    ]
    assert rejected(tables) == [(2, "c", "bad_field")]

    # Without retire_missing absence means nothing; b comes back, a gets its old text: both as a new version.
    assert ingest(tables, file, A, {**B, "destination": "y"}) == {"read": 2, "changed": 1, "revived": 1}
    assert profiles(tables)[2:] == [
        ("a", 3, "//a", "active"),
        ("b", 1, "//p:b", "retired"),
        ("b", 2, "//p:b", "active"),
        ("c", 1, "//c", "active"),
    ]
    assert rejected(tables) == []
    assert ingest(tables, file, {**B, "destination": "z"}) == {"read": 1, "updated": 1}
    for place in (f"{tables.lake.location}/{name}" for name in ("profiles", "rejected_profiles")):
        assert by_spark(tables.spark, place) == by_delta_rs(place) == by_duckdb(place)
    numbers = profiles(tables, "profile_id", "profile_version", "since", "changed", "until")
    assert numbers == [("a", 1, 1, 1, 2), ("a", 2, 2, 2, 3), ("a", 3, 3, 3, None),
                       ("b", 1, 1, 1, 2), ("b", 2, 3, 4, None), ("c", 1, 1, 1, None)]  # fmt: skip


@nightly
def test_a_retired_profile_that_comes_again_with_another_meaning_is_a_new_version(
    tables: Tables, tmp_path: Path
) -> None:
    file = tmp_path / "p.jsonl"
    ingest(tables, file, A, B)
    ingest(tables, file, B, retire_missing=True)
    assert ingest(tables, file, {**A, "xpath": "//x"}) == {"read": 1, "changed": 1}
    numbers = profiles(tables, "profile_id", "profile_version", "state", "since", "until")
    assert numbers[:2] == [("a", 1, "retired", 1, 2), ("a", 2, "active", 3, None)]


@nightly
def test_nothing_is_retired_while_a_row_hides_its_id(tables: Tables, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    ingest(tables, file, A, B)
    broken = json.dumps(B)[:-9] + "\n"
    counts = ingest(tables, file, A, broken, retire_missing=True)
    assert counts["missing, not retired: rows without id"] == 1
    assert "retired" not in counts
    assert [state for *_, state in profiles(tables)] == ["active", "active"]
    assert ingest(tables, file, A, retire_missing=True)["retired"] == 1


def test_what_the_language_refuses_is_a_row_and_never_active(tables: Tables, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    counts = ingest(tables, file, A, {"profile_id": "d", "xpath": "//d["})
    assert counts == {"read": 2, "new": 1, "rejected": 1, "rejected: syntax_error": 1}
    row = read_small(tables.read("rejected_profiles"))[0]
    with pytest.raises(Rejected) as refusal:
        compile_profile("//d[")
    assert (row.source, row.row_number, row.profile_id) == (str(file), 2, "d")
    assert (row.reason, row.column, row.message) == (refusal.value.code, refusal.value.column, refusal.value.message)
    assert json.loads(row.raw) == {"profile_id": "d", "xpath": "//d["}

    # A version stays active while what should supersede it is refused; neither is it missing.
    assert ingest(tables, file, {**A, "xpath": "//u:a"}, retire_missing=True) == {
        "read": 1, "rejected": 1, "rejected: unbound_prefix": 1,
    }  # fmt: skip
    assert profiles(tables) == [("a", 1, "//a", "active")]
    assert rejected(tables) == [(1, "a", "unbound_prefix")]
    versions = tables.versions(*ingest_profiles.TABLES)
    assert ingest(tables, file, {**A, "xpath": "//u:a"}, retire_missing=True)["rejected"] == 1
    assert tables.versions(*ingest_profiles.TABLES) == versions


@nightly
def test_rejections_of_other_files_stay(tables: Tables, tmp_path: Path) -> None:
    quoted = tmp_path / "it's\\ `one`.jsonl"
    ingest(tables, quoted, "{\n", "[\n")
    ingest(tables, tmp_path / "other.jsonl", "{\n")
    assert len(rejected(tables)) == 3
    ingest(tables, quoted, A)
    assert rejected(tables) == [(1, None, "not_json")]


def test_the_id_of_an_xpath_says_all_that_it_means_and_no_more(tables: Tables) -> None:
    rows = [
        ("//a", {}, False),
        ("//a", {}, True),
        ("//a", {"p": "u"}, False),
        ("//a", {"p": "u", "q": "v"}, False),
        ("//a", {"q": "v", "p": "u"}, False),
        ("//a", {"p": "u1:q1:v"}, False),
        ("//a1:p1:u", {}, False),
    ]
    given = tables.spark.createDataFrame(rows, ASKED)
    ids = [row.xpath_id for row in read_small(ingest_profiles.with_xpath_id(given))]
    assert ids[3] == ids[4]
    assert len({*ids}) == 6
    assert all(len(name) == 32 for name in ids)
    assert ids[0] == "a6b4675cc1e49d7965293491839f8124"  # stored in tables: never to change


@nightly
def test_compiled_rows_are_what_the_language_says(tables: Tables, tmp_path: Path) -> None:
    xpaths = ["//a[b or @c = 'x']", "//p:a//@id", "//a[not(b)]", "//a[", "/", "//@*", "//a[b][b/c > 1]|//d", "false()"]
    rows = [{"profile_id": str(k), "xpath": xpath, "namespaces": {"p": "u"}} for k, xpath in enumerate(xpaths)]
    ingest(tables, tmp_path / "p.jsonl", *rows, {"profile_id": "same", "xpath": "/", "namespaces": {"p": "u"}})
    asked = tables.spark.createDataFrame([(xpath, {"p": "u"}, False) for xpath in xpaths], ASKED)
    ids = {row.xpath: row.xpath_id for row in read_small(ingest_profiles.with_xpath_id(asked))}
    stored = {row.xpath_id: row.asDict(recursive=True) for row in read_small(tables.read("profile_patterns"))}
    assert stored == {ids[xpath]: expected_row(ids[xpath], xpath) for xpath in xpaths}


def expected_row(xpath_id: str, xpath: str) -> dict[str, Any]:
    """Each row by itself, from what the language says."""
    row = dict.fromkeys(contract("profile_patterns").names) | {"xpath_id": xpath_id, "patterns": [], "branches": []}
    try:
        compiled = compile_profile(xpath, {"p": "u"})
    except Rejected as refusal:
        why = {"class": "rejected", "reason": refusal.code, "column": refusal.column, "message": refusal.message}
        return row | why
    patterns = to_rows(compiled.alternatives).drop_columns("valued")
    vocabulary = Vocabulary()
    branches = write_branches(branches_of(patterns, vocabulary), vocabulary).sort_by("branch_id")
    row |= {
        "class": compiled.klass.value,
        "column": 0,
        "patterns": patterns.to_pylist(),
        "branches": branches.to_pylist(),
    }
    for why in compiled.reasons[:1]:
        row |= {"reason": why.code, "column": why.column, "message": why.message}
    return row


def test_a_row_does_not_depend_on_its_batch(tables: Tables) -> None:
    from winnow.index.compiled_rows import compile_rows

    xpaths = ["//b/a[c]", "//a[b or c]//d", "//*[@x]/a"]
    columns = {"xpath_id": xpaths, "xpath": xpaths, "ordered": [False] * 3}
    namespaces = pa.array([[]] * 3, pa.map_(pa.string(), pa.string()))
    batch = pa.RecordBatch.from_pydict({**columns, "namespaces": namespaces})
    assert compile_rows(batch).to_pylist() == [
        row for k in range(3) for row in compile_rows(batch.slice(k, 1)).to_pylist()
    ]


@nightly
def test_two_files_at_once_are_one_after_the_other(tables: Tables, tmp_path: Path) -> None:
    def declare(k: int) -> dict[str, int]:
        own = Lake(tables.lake.location).open(tables.spark)
        rows = [{"profile_id": f"p{k}-{n}", "xpath": f"//x{n}"} for n in range(5)]
        return ingest(own, tmp_path / f"{k}.jsonl", {"profile_id": "shared", "xpath": f"//v{k}"}, *rows)

    tables.create(*ingest_profiles.TABLES)
    with ThreadPoolExecutor(3) as threads:
        counts = list(threads.map(declare, range(3)))
    assert sorted(count.get("new", 0) for count in counts) == [5, 5, 6]
    assert sorted(count.get("changed", 0) for count in counts) == [0, 1, 1]
    shared = [
        row
        for row in profiles(tables, "profile_id", "profile_version", "state", "since", "until")
        if row[0] == "shared"
    ]
    assert shared == [
        ("shared", 1, "superseded", 1, 2), ("shared", 2, "superseded", 2, 3), ("shared", 3, "active", 3, None),
    ]  # fmt: skip
    assert len(profiles(tables)) == 15 + 3
    assert tables.read("profile_patterns").count() == 5 + 3


@nightly
def test_what_was_planned_on_an_older_table_is_not_written(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another ingest commits between plan and write; on an object store no lock keeps the two apart."""
    ingest(tables, tmp_path / "p.jsonl", A)
    require, interruptions = ingest_profiles.require_distinct_keys, [{**A, "xpath": "//y"}]

    def interrupted(*frames: Any) -> None:
        require(*frames)
        if interruptions:
            ingest(tables, tmp_path / "other.jsonl", interruptions.pop())

    monkeypatch.setattr(ingest_profiles, "require_distinct_keys", interrupted)
    assert ingest(tables, tmp_path / "p.jsonl", {**A, "xpath": "//z"}) == {"read": 1, "changed": 1}
    assert profiles(tables, "profile_version", "xpath", "state", "since", "until") == [
        (1, "//a", "superseded", 1, 2), (2, "//y", "superseded", 2, 3), (3, "//z", "active", 3, None),
    ]  # fmt: skip


@nightly
def test_two_profiles_with_one_key_are_an_error(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profile_versions, "profile_key", lambda name, _: sf.length(name).cast("long"))
    ingest(tables, tmp_path / "p.jsonl", A)
    with pytest.raises(DataError, match=r"profile_key_conflict.*'a' version 1 and 'b' version 1 have the same key 1"):
        ingest(tables, tmp_path / "p.jsonl", {**A, "destination": "y"}, B)
    assert profiles(tables) == [("a", 1, "//a", "active")]


@nightly
def test_an_empty_file_and_a_csv(tables: Tables, tmp_path: Path) -> None:
    assert ingest(tables, tmp_path / "p.jsonl") == {}
    file = tmp_path / "p.csv"
    counts = ingest(tables, file, "profile_id,xpath,colour\n", "a,//a,red\n", "b,//b[,\n")
    assert counts == {
        "read": 2, "new": 1, "rejected": 1, "rejected: syntax_error": 1, "ignored field: colour": 1,
    }  # fmt: skip
    assert [(row.row_number, row.raw) for row in read_small(tables.read("rejected_profiles"))] == [(3, "b,//b[,")]


KILLED = """
import sys
from winnow.jobs import encode_profiles, ingest_profiles
from winnow.tables.session import open_session
from winnow.tables import Lake
spark, lake = open_session(master="local[1]"), Lake(sys.argv[1])
ingest_profiles.run(spark, ingest_profiles.Config(lake=lake, file=sys.argv[2], retire_missing=True))
encode_profiles.run(spark, encode_profiles.Config(lake=lake))
"""
POINTS = [f"{table} {moment}" for table in ("profile_patterns", "profiles", "rejected_profiles", "branches", "patterns")
          for moment in ("unwritten", "written")]  # fmt: skip
QUICK_POINTS = ("profiles unwritten", "profiles written", "branches written")


@nightly
def test_killed_at_every_commit(tables: Tables, tmp_path: Path) -> None:
    """A lake that is killed again and again, each time a step further, ends as one that is not."""
    file, prepared = tmp_path / "p.jsonl", tmp_path / "prepared"
    ingest(tables, file, A, B, C)
    ingest(tables, file, {**A, "xpath": "//new"}, {**B, "xpath": "]"}, {"profile_id": "d", "xpath": "//d/e"}, "{\n")
    shutil.copytree(tables.lake.location, prepared)
    rows = ({**A, "xpath": "//newer"}, {**B, "xpath": "["}, {"profile_id": "e", "xpath": "//e[f]"})
    ingest(tables, file, *rows, retire_missing=True)
    expected = content(tables)
    for point in POINTS if os.environ.get("WINNOW_NIGHTLY") else QUICK_POINTS:
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(prepared), str(file)],
            env={**os.environ, "WINNOW_FAULT": point}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == -signal.SIGKILL, done.stderr
    finished = Lake(str(prepared)).open(tables.spark)
    ingest(finished, file, *rows, retire_missing=True)
    assert content(finished) == expected


def test_the_contracts_hold_what_the_reader_gives() -> None:
    assert {*profile_versions.MEANING, *profile_versions.ATTRIBUTES} <= {*contract("profiles").names}
