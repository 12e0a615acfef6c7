"""Envelope-tree partitions in Delta: loaded alone, pruned by their roots, changed in place, versioned, never wrong."""

from pathlib import Path

import numpy as np
import pytest
from lakes import FIRST, declare, ingest, rows, run
from pyspark.sql import SparkSession
from winnow.lake.store import read_rows, replace_partition
from winnow.pipeline import build_index, encode_profiles, join_paths
from winnow.pipeline.build_index import load_index
from winnow.pipeline.join_paths import Places
from winnow.pipeline.words import load_paths, load_vocabulary

from winnow.envelope import check_invariants
from winnow.index.packed import unpack
from winnow.index.trees import load_tree, may_fit

pytestmark = pytest.mark.spark

NAMES = [f"n{k}" for k in range(30)]


def profiles(names: list[str]) -> list[dict[str, object]]:
    made = [f"/r/{name}" for name in names] + [f"//{name}[@id = '1']//leaf" for name in names]
    return [{"profile_id": xpath, "xpath": xpath} for xpath in [*made, "//text()[. = 'x']", "/r/*/leaf"]]


def facts(lake: str) -> set[tuple[str, bool, str]]:
    """path_branches in words, of the branches that are in the index."""
    lines = {row["branch"]: row["line"] for row in rows(lake, "branches")}
    paths = {row["path_id"]: row["path"] for row in rows(lake, "paths")}
    index = load_index(lake)
    assert index is not None
    live = {row["entry"] for row in rows(lake, "envelope_nodes") if row["index_version"] == index.version}
    pairs = [
        (paths[r["path_id"]], r["text"], lines[r["branch"]]) for r in rows(lake, "path_branches") if r["branch"] in live
    ]
    assert len(pairs) == len(set(pairs))
    return set(pairs)


def check_trees(lake: str) -> set[int]:
    """Every partition is a sound tree by itself, and every branch is in exactly one."""
    index = load_index(lake)
    assert index is not None
    entries: list[int] = []
    for root in index.roots.to_pylist():
        tree = load_tree(index.rows(lake, root["partition"]), root["parameters"])
        check_invariants(tree)
        assert len(tree) == root["branches"]
        entries += tree.arrays.ids.tolist()
    assert len(entries) == len(set(entries))
    return set(entries)


def step(
    spark: SparkSession, lake: str, partition: int = 10, **options: object
) -> tuple[dict[str, int], dict[str, int]]:
    encode_profiles.run(spark, encode_profiles.Config(lake=lake, run_id="t"))
    built = build_index.run(build_index.Config(lake=lake, run_id="t", partition=partition, **options))  # type: ignore[arg-type]
    return built.counts, join_paths.run(spark, join_paths.Config(lake=lake, run_id="t")).counts


def test_partitions_live_through_changes(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<r><n1 id='1'><leaf/>x</n1><n2/><zz><n3/></zz></r>")
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    declare(lake, tmp_path, profiles(NAMES[:20]))
    run(spark, lake, FIRST, partition=10)
    index = load_index(lake)
    assert index is not None
    assert index.roots.num_rows > 2
    before = check_trees(lake)
    assert ("/r/n1", False, "/r/n1") in facts(lake)
    assert ("/r/n1", True, "//text()") in facts(lake)

    # Insert and delete in place: the same index version, other partitions untouched.
    files = {row["partition"]: row["build"] for row in index.roots.to_pylist()}
    declare(lake, tmp_path, profiles(NAMES[2:23]))
    counts, _ = step(spark, lake)
    changed = load_index(lake)
    assert changed is not None
    assert (changed.version, changed.build) == (index.version, index.build + 1)
    assert counts["inserted"] > 0
    assert counts["deleted"] > 0
    after = check_trees(lake)
    assert after != before
    assert any(row["build"] == files.get(row["partition"]) for row in changed.roots.to_pylist())

    # What left and comes back meets the paths that came in between.
    (tmp_path / "b.xml").write_text("<r><q><n0/></q><n0><leaf>x</leaf></n0></r>")
    ingest(spark, lake, FIRST, tmp_path / "b.xml")
    run(spark, lake, FIRST, partition=10)
    declare(lake, tmp_path, profiles(NAMES[:20]))
    step(spark, lake)
    incremental = facts(lake)
    assert ("/r/n0", False, "/r/n0") in incremental

    # A rebuild is a new version with the same answers; a run pins the one it used.
    counts, joined = step(spark, lake, rebuild=True)
    assert counts["index version"] == index.version + 1
    assert joined["new path branches"] == 0
    assert facts(lake) == incremental
    check_trees(lake)
    assert step(spark, lake)[0] == {"branches": len(check_trees(lake)), "index version": index.version + 1}


def builds(lake: str) -> dict[int, int]:
    """Per partition the build that last changed it."""
    index = load_index(lake)
    assert index is not None
    return {row["partition"]: row["build"] for row in index.roots.to_pylist()}


def sizes(lake: str) -> dict[int, int]:
    index = load_index(lake)
    assert index is not None
    return {row["partition"]: row["branches"] for row in index.roots.to_pylist()}


def check_as_if_new(spark: SparkSession, lake: str) -> None:
    """The trees hold what a rebuild packs, and their branches have met all paths."""
    held, joined = check_trees(lake), facts(lake)
    built, _ = step(spark, lake, partition=40, rebuild=True)
    assert built["inserted"] == built["deleted"] == 0
    assert check_trees(lake) == held
    (Path(lake) / "path_branches").rename(Path(lake) / "path_branches before")
    join_paths.run(spark, join_paths.Config(lake=lake, run_id="t"))
    assert facts(lake) == joined


def test_few_new_branches_go_to_the_open_partition(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<r><n1 id='1'><leaf/>x</n1><n20/><n21/><n22 id='1'/><n25/></r>")
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    declare(lake, tmp_path, profiles(NAMES[:20]))
    run(spark, lake, FIRST, partition=40)
    before = sizes(lake)
    for count in (1, 2):  # three branches each
        declare(lake, tmp_path, profiles(NAMES[: 20 + count]))
        _, joined = step(spark, lake, partition=40)
        assert joined["partitions read"] == 1
        assert sizes(lake) == before | {len(before): 3 * count}
        assert ("/r/n20", False, "/r/n20") in facts(lake)

    # What goes changes only the partition that holds it.
    versions = builds(lake)
    declare(lake, tmp_path, profiles([*NAMES[:20], NAMES[21]]))
    step(spark, lake, partition=40)
    assert sizes(lake) == before | {len(before): 3}
    assert builds(lake) == versions | {len(before): max(versions.values()) + 1}

    # Too many for it: they go where they belong, and so do those that it has.
    declare(lake, tmp_path, profiles([*NAMES[:20], *NAMES[21:25]]))
    step(spark, lake, partition=40)
    assert sizes(lake)[len(before)] == 0
    assert sum(sizes(lake).values()) == sum(before.values()) + 12
    assert ("/r/n22", False, "/r/n22") in facts(lake)
    declare(lake, tmp_path, profiles([*NAMES[:20], *NAMES[21:26]]))
    step(spark, lake, partition=40)
    assert sizes(lake)[len(before)] == 3
    check_as_if_new(spark, lake)


@pytest.mark.parametrize("names", [NAMES[:24], NAMES[:26], NAMES[2:22], NAMES[:20]])
def test_a_build_that_did_not_end(
    spark: SparkSession, lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    """Killed after each of its commits in turn; then other profiles are there, and a build ends."""
    (tmp_path / "a.xml").write_text("<r><n1 id='1'><leaf/>x</n1><n20/><n21/><n22 id='1'/><n25/></r>")
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    declare(lake, tmp_path, profiles(NAMES[:20]))
    run(spark, lake, FIRST, partition=40)
    declare(lake, tmp_path, profiles(NAMES[:22]))
    step(spark, lake, partition=40)

    class KilledError(Exception):
        pass

    def killed_at(commit: int) -> None:
        left = iter(range(commit, -1, -1))

        def replaced(*given: object) -> int:
            if not next(left):
                raise KilledError
            return replace_partition(*given)  # type: ignore[arg-type]

        def ended(*given: object, **options: object) -> int:
            raise KilledError

        monkeypatch.setattr(build_index, "replace_partition", replaced)
        monkeypatch.setattr(build_index, "commit_parts", ended)
        with pytest.raises(KilledError):
            step(spark, lake, partition=40)

    declare(lake, tmp_path, profiles(NAMES[1:25]))
    before = load_index(lake)
    for commit in (1, 2, 9):
        killed_at(commit)
    after = load_index(lake)
    assert before is not None
    assert after is not None
    assert (after.build, after.nodes_version) == (before.build, before.nodes_version)
    monkeypatch.undo()
    declare(lake, tmp_path, profiles(names))
    step(spark, lake, partition=40)
    check_as_if_new(spark, lake)


def test_a_partition_that_cannot_match_is_not_read(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<r><n1/></r>")
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    declare(lake, tmp_path, [{"profile_id": name, "xpath": f"/r/{name}/only"} for name in NAMES])
    reports = run(spark, lake, FIRST, partition=5)
    assert reports["join_paths"].counts["partitions read"] == reports["join_paths"].counts["partitions"] == 6  # all new
    (tmp_path / "b.xml").write_text("<r><n1><only/></n1><other/></r>")
    ingest(spark, lake, FIRST, tmp_path / "b.xml")
    counts = run(spark, lake, FIRST, partition=5)["join_paths"].counts
    assert counts["new paths"] == 2
    assert 1 <= counts["partitions read"] < 6
    assert ("/r/n1/only", False, "/r/n1/only") in facts(lake)

    # The roots let everything through that their branches need.
    vocabulary = load_vocabulary(lake)
    known = load_paths(lake, vocabulary)
    places = Places.of(known, vocabulary)
    index = load_index(lake)
    assert index is not None
    fits = may_fit(index.roots, places.sequences(np.arange(2, 10, 2)))
    home = {row["entry"]: row["partition"] for row in rows(lake, "envelope_nodes") if row["entry"] >= 0}
    codes = {int(code): k for k, code in enumerate(known.codes)}
    for row in rows(lake, "path_branches"):
        assert fits[home[row["branch"]], codes[row["path_id"]] - 1]  # type: ignore[index, operator]


def test_structure_is_whole(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<r a='1'><b/><b><c/></b></r>")
    ingest(spark, lake, FIRST, tmp_path / "a.xml")
    declare(lake, tmp_path, [{"profile_id": "p", "xpath": "/r"}])
    run(spark, lake, FIRST)
    paths = {row["path_id"]: row["path"] for row in rows(lake, "paths")}
    inverted = read_rows(lake, "path_documents")
    shown = [paths[code] for code in inverted.column("path_id").to_pylist()]
    numbers = dict(zip(inverted.column("number").to_pylist(), shown, strict=True))
    nodes, _ = unpack(read_rows(lake, "encoded_documents").column("nodes").combine_chunks())
    assert [numbers[number] for number in nodes.tolist()] == ["/r", "/r/@a", "/r/b", "/r/b", "/r/b/c"]
    documents, ends = unpack(inverted.column("rows").combine_chunks())
    assert sorted(shown) == ["/r", "/r/@a", "/r/b", "/r/b/c"]
    assert (documents.tolist(), ends.tolist()) == ([0] * 4, [0, 1, 2, 3, 4])
    assert read_rows(lake, "vocabulary").num_rows == 5
