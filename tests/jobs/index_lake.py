"""A lake with a few profiles and paths, its index, and the slow, obvious answer to which branches each path has."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import Row, SparkSession

from winnow.encoding import Vocabulary
from winnow.envelope import check_invariants
from winnow.index.codes import path_codes, text_codes
from winnow.index.lines import branches_of
from winnow.index.partition_tasks import load_whole_tree
from winnow.index.patterns import to_rows
from winnow.jobs import build_index, join_paths
from winnow.jobs.index_state import IndexState, index_state, trees
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.xpath import compile_profile

Branch = tuple[str, list[int], list[str]]  # for people, steps with local numbers, labels
Fact = tuple[str, bool, str]  # a path has a branch, which ends in text or not
_DESCENDANT = 1  # the axis of a step
_numbers = itertools.count(1)


class IndexLake:
    def __init__(self, spark: SparkSession, folder: Path, *, partition: int = 10) -> None:
        self.spark, self.partition = spark, partition
        self.tables: Tables = Lake(str(folder)).open(spark)

    def declare(self, *xpaths: str) -> None:
        """Makes these the active profiles."""
        own = {xpath: branches_of_xpath(xpath) for xpath in xpaths}
        known = {code: row for rows in own.values() for code, row in rows.items()}
        self._add("branches", [(code, *row) for code, row in known.items()])
        compiled = [
            (xpath, "native", None, 0, None, [], [(code, *rows[code]) for code in sorted(rows)])
            for xpath, rows in own.items()
        ]
        self._add("profile_patterns", compiled)
        profiles = [
            (n, xpath, 1, xpath, {}, False, xpath, None, None, None, None, "active", 1, 1, None)
            for n, xpath in enumerate(xpaths)
        ]
        frame = self.spark.createDataFrame(profiles, contract("profiles").row_type)
        self.tables.replace("profiles", frame, Transaction("test", next(_numbers)))

    def meet(self, *paths: str) -> None:
        """Adds these paths, such as /r/n1/@id, and those above them."""
        whole = {"/" + "/".join(path.split("/")[1:end]) for path in paths for end in range(2, len(path.split("/")) + 1)}
        rows = [(code_of(path), code_of(path.rpartition("/")[0]), *described(path)) for path in sorted(whole)]
        self._add("paths", rows)

    def _add(self, name: str, rows: list[Any]) -> None:
        self.tables.append_new(name, self.spark.createDataFrame(rows, contract(name).row_type))

    def build(self, **options: Any) -> dict[str, int]:
        config = build_index.Config(lake=self.tables.lake, run_id="t", **{"partition": self.partition, **options})
        return build_index.run(self.spark, config).counts

    def join(self) -> dict[str, int]:
        return join_paths.run(self.spark, join_paths.Config(lake=self.tables.lake, run_id="t")).counts

    @property
    def index(self) -> IndexState:
        index = index_state(self.tables)
        assert index is not None
        return index

    def sizes(self) -> dict[int, int]:
        return {row["partition"]: row["branches"] for row in self.index.partitions}

    def builds(self) -> dict[int, int]:
        return {row["partition"]: row["build"] for row in self.index.partitions}

    def homes(self) -> dict[int, int]:
        """Which partition holds each branch; every partition is a sound tree by itself."""
        homes: dict[int, int] = {}
        index = self.index
        stored = trees(self.tables, index).toArrow()
        for root in index.partitions:
            rows = stored.filter(pc.equal(stored.column("partition"), root["partition"]))
            tree = load_whole_tree(rows)
            assert not check_invariants(tree)
            own = [branch for branch in rows.column("branch_id").to_pylist() if branch is not None]
            assert len(tree) == len(own) == root["branches"]
            assert not set(own) & set(homes)
            homes |= dict.fromkeys(own, root["partition"])
        return homes

    def check(self) -> set[Fact]:
        """path_branches in words: what it says of the branches in the index is what brute force says."""
        branches, paths = self.branches(), {row["path_id"]: row["path"] for row in self._rows("paths")}
        assert set(self.homes()) == set(branches)
        rows = self._rows("path_branches")
        assert len(rows) == len(set(rows))
        facts = {
            (paths[row["path_id"]], row["text"], branches[row["branch_id"]][0])
            for row in rows
            if row["branch_id"] in branches
        }
        assert facts == brute_force(paths.values(), branches.values())
        return facts

    def branches(self) -> dict[int, Branch]:
        """Those of the active profiles."""
        return {code: row for own in self._rows("profiles") for code, row in branches_of_xpath(own["xpath"]).items()}

    def _rows(self, name: str) -> list[Row]:
        return self.tables.read(name).collect()


def brute_force(paths: Iterable[str], branches: Iterable[Branch]) -> set[Fact]:
    """Each path, and text in it, with each branch, by trying every placement."""
    asked = [(line, [(name_of(step >> 1, labels), step & 1) for step in steps]) for line, steps, labels in branches]
    found = set()
    for path in paths:
        labels = path.split("/")[:0:-1]
        places = ((False, labels), (True, ["text()", *labels]))
        found |= {(path, text, line) for text, place in places for line, steps in asked if lies(steps, place)}
    return found


def lies(steps: list[tuple[str, int]], labels: list[str], start: int = 0) -> bool:
    """Whether a branch is a path; both from the lower end up."""
    if not steps:
        return start == len(labels)
    (name, axis), rest = steps[0], steps[1:]
    if start >= len(labels) or not takes(name, labels[start]):
        return False
    if axis != _DESCENDANT:
        return lies(rest, labels, start + 1)
    return not rest or any(lies(rest, labels, at) for at in range(start + 1, len(labels)))


def takes(name: str, label: str) -> bool:
    is_attribute, is_text = label.startswith("@"), label == "text()"
    return name == label or (name == "*" and not is_attribute and not is_text) or (name == "@*" and is_attribute)


def name_of(number: int, labels: list[str]) -> str:
    return {0: "text()", ANY_ELEMENT: "*", ANY_ATTRIBUTE: "@*"}.get(number) or labels[abs(number) - 1]


def branches_of_xpath(xpath: str) -> dict[int, Branch]:
    """By their ids: for people, steps with local numbers, and the labels that these stand for."""
    vocabulary = Vocabulary()
    branches = branches_of(to_rows(list(compile_profile(xpath).alternatives)), vocabulary)
    steps = [branches.steps[start:end].tolist() for start, end in itertools.pairwise(branches.ends.tolist())]
    rows = zip(branches.codes.tolist(), branches.texts(vocabulary), steps, strict=True)
    return {code: (line, *local_steps(own, vocabulary)) for code, line, own in rows}


def local_steps(steps: list[int], vocabulary: Vocabulary) -> tuple[list[int], list[str]]:
    """Numbers of the labels that these steps name, from 1 in the order in which they are named, in place of symbols."""
    labels: list[str] = []
    local = []
    for step in steps:
        symbol = step >> 1
        if symbol not in (0, ANY_ELEMENT, ANY_ATTRIBUTE):
            label = vocabulary.label(abs(symbol))
            if label not in labels:
                labels.append(label)
            number = labels.index(label) + 1
            step = 2 * (number if symbol > 0 else -number) + (step & 1)
        local.append(step)
    return local, labels


def code_of(path: str) -> int:
    labels = path.split("/")[1:]
    if not labels:
        return 0
    count = len(labels)
    parents, symbols = np.arange(-1, count, dtype=np.int32), np.arange(-1, count, dtype=np.int32)
    return int(path_codes(parents, symbols, text_codes(labels))[-1])


def described(path: str) -> tuple[str, str, int]:
    return path.rpartition("/")[2], path, path.count("/")


def profiles(names: Iterable[str]) -> list[str]:
    names = list(names)
    made = [f"/r/{name}" for name in names] + [f"//{name}[@id = '1']//leaf" for name in names]
    return [*made, "//text()[. = 'x']", "/r/*/leaf"]
