"""Paths meet branches: every pair is asked once, whatever the order in which paths and branches come."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jobs.index_lake import IndexLake
from winnow.errors import DataError, TransientError
from winnow.jobs import join_paths
from winnow.jobs.index_state import symbols
from winnow.jobs.join_paths import path_branches, require_joined, route_paths, with_news
from winnow.tables.small import read_small

from .slow import nightly

pytestmark = pytest.mark.spark
XPATHS = ["/a", "//a/b", "//a//b", "/*/b", "//*[@x]", "//@*", "//@y", "//text()", "//b/text()", "/a/*//c", "//c[a]/b"]


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> IndexLake:
    return IndexLake(spark, tmp_path / "lake", partition=3)


@nightly
def test_one_partition_or_many_give_the_same(lake: IndexLake) -> None:
    lake.declare(*XPATHS)
    lake.meet("/a/b/c", "/a/c/@x", "/c/b/@y", "/b/b/a")
    lake.build(partition=1000)
    index = lake.index
    assert len(index.partitions) == 1
    lake.join()
    together = lake.check()
    lake.build(rebuild=True, partition=2)
    assert len(lake.index.partitions) > 3
    paths = with_news(lake.tables.read("paths"), None)
    routed = route_paths(paths, symbols(lake.tables, lake.index), lake.index.partitions, set())
    from winnow.jobs.index_state import trees

    pairs = path_branches(trees(lake.tables, lake.index), routed, 0)
    assert sorted(map(tuple, read_small(pairs))) == sorted(map(tuple, read_small(lake.tables.read("path_branches"))))
    assert len(together) == pairs.count()


def test_a_partition_that_cannot_match_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    lake = IndexLake(spark, tmp_path / "lake", partition=5)
    lake.declare(*(f"/r/n{k}/only" for k in range(30)))
    lake.meet("/r/n1")
    lake.build()
    assert lake.join() == {
        "paths": 2, "new paths": 2, "partitions": 6, "partitions read": 0, "pairs routed": 0, "new path branches": 0,
    }  # fmt: skip
    lake.meet("/r/n1/only", "/r/n1/other")
    counts = lake.join()
    assert counts["new paths"] == 2
    assert counts["new path branches"] == 1
    assert 1 <= counts["partitions read"] < 6
    lake.check()


def test_only_what_is_new_is_asked_and_all_of_it(lake: IndexLake) -> None:
    lake.declare(*XPATHS)
    lake.meet("/a/b", "/a/c/@x")
    lake.build()
    assert lake.join()["new paths"] == 4
    lake.check()
    lake.meet("/a/b/c", "/b/b/a/@y")
    assert lake.join()["new paths"] == 5
    lake.declare(*XPATHS[:-1], "/a/b")
    lake.build()
    lake.meet("/b/a/b")
    counts = lake.join()
    assert counts["new paths"] == 2
    lake.check()


@nightly
def test_a_join_that_was_killed_is_finished(lake: IndexLake, monkeypatch: pytest.MonkeyPatch) -> None:
    class KilledError(Exception):
        pass

    lake.declare(*XPATHS)
    lake.meet("/a/b", "/a/c/@x")
    lake.build()
    for fault in ("path_branches unwritten", "path_branches written", "path_joins unwritten"):

        def point(name: str, fault: str = fault) -> None:
            if name == fault:
                raise KilledError

        with monkeypatch.context() as patch:
            patch.setattr("winnow.tables.tables.point", point)
            with pytest.raises(KilledError):
                lake.join()
        with pytest.raises(DataError, match="join_stale"):
            require_joined(lake.tables)
        lake.meet(f"/a/{fault[:3]}/b")
    lake.join()
    lake.check()
    require_joined(lake.tables)


@nightly
def test_two_joins_at_once_add_each_pair_once(lake: IndexLake) -> None:
    lake.declare(*XPATHS)
    lake.meet("/a/b", "/a/c/@x")
    lake.build()
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda _: lake.join(), range(3)))
    lake.check()
    assert lake.tables.read("path_joins").count() == 1


@nightly
def test_a_match_requires_a_join_of_its_paths_and_profiles(lake: IndexLake) -> None:
    lake.declare(*XPATHS)
    lake.meet("/a/b")
    with pytest.raises(DataError, match="index_missing"):
        require_joined(lake.tables)
    lake.build()
    with pytest.raises(DataError, match=r"join_stale.*\(build 1\) nothing were joined"):
        require_joined(lake.tables)
    lake.join()
    profiles = lake.tables.version("profiles")
    _, join = require_joined(lake.tables)
    assert join[:3] == (1, profiles, lake.tables.version("paths"))
    lake.meet("/a/b/c")
    with pytest.raises(DataError, match=r"join_stale.*version 1 of paths and build 1 were joined, asked are version 2"):
        require_joined(lake.tables)
    assert require_joined(lake.tables, paths_version=1)
    lake.declare(*XPATHS[1:], "/new")
    with pytest.raises(DataError, match="index_stale"):
        require_joined(lake.tables)
    lake.build()
    with pytest.raises(DataError, match=r"join_stale.*\(build 2\) version 1 of paths and build 1"):
        require_joined(lake.tables)
    lake.join()
    require_joined(lake.tables)

    # What was joined with the older index still holds; a path that came later has not met what left by then.
    assert require_joined(lake.tables, paths_version=1, profiles_version=profiles)
    with pytest.raises(TransientError, match="index_moved"):
        require_joined(lake.tables, profiles_version=profiles)


@nightly
def test_paths_made_anew_are_joined_anew(lake: IndexLake) -> None:
    """Versions of a table that was made anew mean other rows."""
    lake.declare(*XPATHS)
    lake.meet("/a/b")
    lake.build()
    lake.join()
    lake.spark.sql(f"DELETE FROM {lake.tables.lake.table('path_joins')} WHERE false")
    for table in ("paths", "path_branches"):
        place = Path(lake.tables.lake.location)
        (place / table).rename(place / f"{table} before")
        lake.tables = lake.tables.lake.open(lake.spark)
        lake.meet("/a/b", "/a/c")
        lake.join()
        lake.check()


def test_constants_are_those_of_the_kernels() -> None:
    from winnow.envelope import SYMBOL_MAX

    assert join_paths._UNKNOWN_LABEL == SYMBOL_MAX
