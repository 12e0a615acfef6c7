"""Envelope-tree partitions: built at the same time, changed in place, versioned, never half there."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.index_lake import IndexLake, profiles
from winnow.errors import DataError
from winnow.jobs import build_index
from winnow.jobs.build_index import numbered_labels, packed_trees, with_symbols
from winnow.jobs.index_state import symbols
from winnow.patterns import twigs
from winnow.tables import contract
from winnow.tables.small import read_small

from .slow import nightly

pytestmark = pytest.mark.spark
NAMES = [f"n{k}" for k in range(30)]


class KilledError(Exception):
    pass


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> IndexLake:
    lake = IndexLake(spark, tmp_path / "lake")
    lake.meet("/r/n1/@id", "/r/n1/leaf", "/r/n2", "/r/n20", "/r/n22/@id", "/r/zz/n3")
    return lake


def test_labels_become_the_symbols_of_the_index(spark: SparkSession) -> None:
    rows = [
        (1, "//a/@b/a", [2 * 1, 2 * -2, 2 * 1 + 1], ["a", "@b"]),
        (2, "/*/text()", [0, 2 * twigs.ANY_ELEMENT], []),
        (3, "/@*", [2 * twigs.ANY_ATTRIBUTE + 1], []),
        (4, "/unasked", [2], ["unasked"]),
    ]
    branches = spark.createDataFrame(rows, contract("branches").row_type)
    asked = spark.createDataFrame([(k, 7, True) for k in (1, 2, 3, 5)], "branch_id long, build int, is_wanted boolean")
    numbers = numbered_labels(branches, spark.createDataFrame([(1, "c"), (2, "a")], "symbol int, label string"))
    assert {row.label: row.symbol for row in read_small(numbers)} == {"c": 1, "a": 2, "@b": 3, "unasked": 4}
    assert {row.branch_id: row.steps for row in read_small(with_symbols(asked, branches, numbers))} == {
        1: [4, -6, 5],
        2: [0, 2 * twigs.ANY_ELEMENT],
        3: [2 * twigs.ANY_ATTRIBUTE + 1],
        5: None,
    }


def test_neighbours_share_a_partition(spark: SparkSession) -> None:
    rows = [(100 - k, 1, [2 * k, 2]) for k in range(1, 31)]
    bound = spark.createDataFrame(rows, "branch_id long, build int, steps array<int>")
    roots = read_small(packed_trees(bound, 3).where("node_id = 0").orderBy("partition"))
    assert [(root.low[0], root.high[0]) for root in roots] == [(1, 10), (11, 20), (21, 30)]
    held = [row.branch_id for row in read_small(packed_trees(bound, 3).where("level = 0"))]
    assert sorted(held) == sorted(row[0] for row in rows)


@nightly
def test_partitions_live_through_changes(lake: IndexLake) -> None:
    lake.declare(*profiles(NAMES[:20]))
    assert lake.build()["partitions"] == 7
    lake.join()
    assert ("/r/n1", True, "//text()") in lake.check()
    before, files = lake.homes(), lake.builds()

    # Insert and delete in place: the same index version, other partitions untouched.
    version = lake.index.version
    lake.declare(*profiles(NAMES[2:23]))
    counts = lake.build()
    assert (counts["inserted"], counts["deleted"]) == (9, 6)
    assert (lake.index.version, lake.index.build) == (version, 2)
    lake.join()
    lake.check()
    assert set(lake.homes()) != set(before)
    assert 1 in lake.builds().values()
    assert 2 in lake.builds().values()
    assert all(lake.builds()[partition] == 1 for partition in files if lake.builds()[partition] < 2)

    # What left and comes back meets the paths that came in between.
    lake.meet("/r/q/n0", "/r/n0/leaf")
    lake.join()
    lake.declare(*profiles(NAMES[:20]))
    lake.build()
    lake.join()
    incremental = lake.check()
    assert ("/r/n0", False, "/r/n0") in incremental

    # A rebuild is a new version with the same answers.
    counts = lake.build(rebuild=True)
    assert (counts["index version"], counts["inserted"], counts["deleted"]) == (version + 1, 0, 0)
    assert lake.join()["new path branches"] == 0
    assert lake.check() == incremental
    assert lake.build() == {"branches": 62, "index version": version + 1}


@nightly
def test_nothing_new_makes_no_commit(lake: IndexLake) -> None:
    lake.declare(*profiles(NAMES[:5]))
    lake.build()
    lake.join()
    tables = (*build_index.TABLES, "path_branches", "path_joins")
    before = lake.tables.versions(*tables)
    lake.build()
    lake.join()
    assert lake.tables.versions(*tables) == before


@nightly
def test_profiles_that_change_no_branch_are_noted(lake: IndexLake) -> None:
    lake.declare(*profiles(NAMES[:5]))
    lake.build()
    lake.join()
    build = lake.index.build
    lake.declare(*profiles(NAMES[:5]))
    lake.build()
    assert lake.index.build == build
    assert lake.index.inputs == lake.tables.versions(*build_index.INPUTS)
    assert lake.join()["partitions read"] == 0


@nightly
def test_few_new_branches_go_to_the_open_partition(spark: SparkSession, tmp_path: Path) -> None:
    lake = IndexLake(spark, tmp_path / "lake", partition=40)
    lake.meet("/r/n1/@id", "/r/n20", "/r/n21", "/r/n22/@id", "/r/n25")
    lake.declare(*profiles(NAMES[:20]))
    lake.build()
    lake.join()
    before = lake.sizes()
    for count in (1, 2):  # three branches each
        lake.declare(*profiles(NAMES[: 20 + count]))
        lake.build()
        assert lake.join()["partitions read"] == 1
        assert lake.sizes() == before | {len(before): 3 * count}
        assert ("/r/n20", False, "/r/n20") in lake.check()

    # What goes changes only the partition that holds it.
    versions = lake.builds()
    lake.declare(*profiles([*NAMES[:20], NAMES[21]]))
    lake.build()
    assert lake.sizes() == before | {len(before): 3}
    assert lake.builds() == versions | {len(before): max(versions.values()) + 1}

    # Too many for it: they go where they belong, and so do those that it has.
    lake.declare(*profiles([*NAMES[:20], *NAMES[21:25]]))
    lake.build()
    lake.join()
    assert lake.sizes()[len(before)] == 0
    assert sum(lake.sizes().values()) == sum(before.values()) + 12
    assert ("/r/n22", False, "/r/n22") in lake.check()
    lake.declare(*profiles([*NAMES[:20], *NAMES[21:26]]))
    lake.build()
    lake.join()
    assert lake.sizes()[len(before)] == 3
    lake.check()


@nightly
def test_a_partition_that_outgrows_twice_its_size_is_split(lake: IndexLake) -> None:
    lake.declare(*[f"/r/n{k}" for k in range(0, 40)], "//x")
    lake.build(partition=20)
    assert len(lake.sizes()) == 3
    lake.declare(*[f"/r/n{k}" for k in range(0, 58)], "//x")
    lake.build(partition=10)
    lake.join()
    lake.check()
    assert len(lake.sizes()) > 3
    assert max(lake.sizes().values()) <= 20


@nightly
def test_an_index_without_branches(lake: IndexLake) -> None:
    lake.declare()
    assert lake.build()["branches"] == 0
    assert lake.join()["new path branches"] == 0
    lake.declare("/r/n1", "//n2")
    lake.build()
    lake.join()
    lake.check()
    lake.declare()
    lake.build()
    lake.join()
    assert lake.check() == set()


@nightly
def test_a_pattern_without_its_branches_is_an_error(lake: IndexLake) -> None:
    lake.declare("/r/n1", "//n2")
    lake.tables.delete("branches", "line = '//n2'")
    with pytest.raises(Exception, match="branches_stale"):
        lake.build()


@nightly
def test_trees_that_were_lost_are_built_anew(lake: IndexLake) -> None:
    lake.declare(*profiles(NAMES[:8]))
    lake.build()
    lake.join()
    lake.tables.delete("envelope_nodes", "partition = 1")
    lake.meet("/r/n3/leaf", "/r/n4/@id", "/r/n5/leaf", "/x")
    with pytest.raises(Exception, match="index_moved"):
        lake.join()
    lake.declare(*profiles(NAMES[:9]))
    assert lake.build()["index version"] == 2
    lake.join()
    lake.check()


@nightly
def test_an_index_that_was_taken_back_is_joined_anew(lake: IndexLake) -> None:
    """Numbers of builds are given a second time: what was joined with the first must not count for the second."""
    lake.declare(*profiles(NAMES[:8]))
    lake.build()
    lake.join()
    version = lake.tables.version("index_partitions")
    lake.declare(*profiles(NAMES[1:8]))
    lake.build()
    lake.meet("/r/n0", "/r/n0/@id", "/r/n9")
    lake.join()
    lake.spark.sql(f"RESTORE TABLE {lake.tables.lake.table('index_partitions')} TO VERSION AS OF {version}")
    lake.spark.sql(f"RESTORE TABLE {lake.tables.lake.table('envelope_nodes')} TO VERSION AS OF 1")
    lake.declare(*profiles(NAMES[:10]))
    lake.build()
    lake.join()
    assert ("/r/n0", False, "/r/n0") in lake.check()


@nightly
def test_older_trees_and_symbols_are_removed(lake: IndexLake) -> None:
    for names in (NAMES[:20], NAMES[2:23], NAMES[:4]):
        lake.declare(*profiles(names))
        lake.build()
    named = {(row["partition"], row["build_id"]) for row in lake.index.partitions}
    stored = lake.tables.read("envelope_nodes").select("partition", "build_id").distinct()
    assert {tuple(row) for row in read_small(stored)} == named
    assert lake.tables.read("index_symbols").count() == symbols(lake.tables, lake.index).count()


POINTS = [f"{table} {when}" for table in build_index.TABLES for when in ("unwritten", "written")]


@nightly
def test_builds_that_were_killed_leave_nothing_that_counts(lake: IndexLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at each of its commits in turn; then other profiles are there, and a build ends."""
    lake.declare(*profiles(NAMES[:20]))
    lake.build()
    lake.join()
    lake.declare(*profiles(NAMES[1:25]))
    before = lake.index
    for fault in POINTS[:-1]:
        with monkeypatch.context() as patch:
            patch.setattr("winnow.tables.tables.point", killing(fault))
            with pytest.raises(KilledError):
                lake.build()
        assert lake.index.partitions == before.partitions
    lake.declare(*profiles(NAMES[2:22]))
    lake.build()
    lake.join()
    lake.check()


def killing(fault: str):  # type: ignore[no-untyped-def]
    def point(name: str) -> None:
        if name == fault:
            raise KilledError

    return point


@nightly
def test_two_builds_at_once_end_with_one_index(lake: IndexLake) -> None:
    lake.declare(*profiles(NAMES[:12]))
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: lake.build(), range(2)))
    lake.join()
    lake.check()
    lake.declare(*profiles(NAMES[2:16]))
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda rebuild: lake.build(rebuild=rebuild), (False, True, False)))
    lake.join()
    lake.check()
    assert len({row["index_build"] for row in lake.index.partitions}) == 1


def test_constants_are_those_of_the_kernels() -> None:
    assert set(build_index._ANY_LABEL) == {twigs.ANY_ELEMENT, twigs.ANY_ATTRIBUTE}


def test_an_index_is_not_asked_before_it_is_there(lake: IndexLake) -> None:
    lake.declare("/r")
    with pytest.raises(DataError, match="index_missing"):
        lake.join()
