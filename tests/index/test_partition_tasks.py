"""Partitions that are packed, changed, split and joined hold what brute force says, whatever the order of events."""

from itertools import count
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.index_lake import Branch, branches_of_xpath, brute_force, code_of
from winnow.envelope import check_invariants
from winnow.index.join_tasks import ROUTED, join_partition, route_paths
from winnow.index.partition_tasks import choose_partitions, edit_partition, load_whole_tree, pack_partition
from winnow.patterns.twigs import ANY_ATTRIBUTE, ANY_ELEMENT

LABELS = ("a", "b", "c")
UNKNOWN = 2**31 - 1
CHANGES = pa.schema(
    [
        ("partition", pa.int32()),
        ("branch_id", pa.int64()),
        ("build", pa.int32()),
        ("steps", pa.list_(pa.int32())),
        ("is_wanted", pa.bool_()),
    ]
)


def random_path(r: Random) -> str:
    labels = [r.choice(LABELS) for _ in range(r.randint(1, 5))]
    return "/" + "/".join([*labels, *([r.choice(("@x", "@y"))] if r.random() < 0.3 else [])])


def random_branch(r: Random) -> tuple[int, Branch]:
    steps = [r.choice(("/", "//")) + r.choice((*LABELS, "*")) for _ in range(r.randint(1, 4))]
    xpath = "".join(steps) + r.choice(("", "", "/@x", "//@y", "/@*", "/text()", "//text()"))
    return r.choice(list((branches_of_xpath(xpath) or branches_of_xpath("//a")).items()))  # some cannot hold


class Index:
    """The tables in memory, and what the jobs do with them."""

    def __init__(self) -> None:
        self.trees: dict[int, pa.Table] = {}
        self.homes: dict[int, int] = {}
        self.builds: dict[int, int] = {}
        self.branches: dict[int, Branch] = {}
        self.symbols: dict[str, int] = {}
        self.joined: set[str] = set()
        self.joined_build = self.build = 0
        self.numbers = count(10)
        self.facts: set[tuple[str, bool, str]] = set()

    def steps(self, branch: Branch) -> list[int]:
        def bound(step: int) -> int:
            number = step >> 1
            if number in (0, ANY_ELEMENT, ANY_ATTRIBUTE):
                return step
            symbol = self.symbols.setdefault(branch[2][abs(number) - 1], len(self.symbols) + 1)
            return 2 * (symbol if number > 0 else -symbol) + (step & 1)

        return [bound(step) for step in branch[1]]

    def changes(self, partition: int, come: list[int], go: list[int]) -> pa.Table:
        rows = [(partition, b, self.builds[b], self.steps(self.branches[b]), True) for b in come]
        rows += [(partition, b, None, None, False) for b in go]
        columns = zip(*rows, strict=True) if rows else [[]] * 5
        return pa.table([pa.array(column, field.type) for column, field in zip(columns, CHANGES, strict=True)], CHANGES)

    def change(self, r: Random, wanted: dict[int, Branch]) -> None:
        self.build += 1
        new, gone = sorted(set(wanted) - set(self.branches)), sorted(set(self.branches) - set(wanted))
        self.branches |= wanted
        self.builds |= dict.fromkeys(new, self.build)
        if not self.trees or r.random() < 0.2:
            self.branches = wanted
            self.homes = {branch: r.randrange(3) for branch in wanted}
            self.trees = {
                p: pack_partition(self.changes(p, [b for b in wanted if self.homes[b] == p], []))
                for p in range(3)
                if p in self.homes.values()
            }
            return
        another = next(self.numbers)
        self.homes |= {branch: r.choice([*self.trees, another]) for branch in new}
        for partition in sorted({self.homes[branch] for branch in (*new, *gone)}):
            old = self.trees.get(partition, next(iter(self.trees.values())).slice(0, 0))
            come, go = ([b for b in some if self.homes[b] == partition] for some in (new, gone))
            pieces = {partition: [partition, next(self.numbers)]} if r.random() < 0.3 else {}
            edited = edit_partition(old, self.changes(partition, come, go), pieces=pieces)
            for piece in pieces.get(partition, [partition]):
                self.trees[piece] = edited.filter(pc.equal(edited.column("partition"), piece))
                self.homes |= dict.fromkeys(self.trees[piece].column("branch_id").drop_null().to_pylist(), piece)
        self.branches = wanted

    def join(self, paths: set[str]) -> None:
        rows = [
            (
                code_of(p),
                code_of(p.rpartition("/")[0]),
                p.count("/"),
                self.symbol(p.rpartition("/")[2]),
                p not in self.joined,
            )
            for p in sorted(paths)
        ]
        types = (pa.int64(), pa.int64(), pa.int32(), pa.int32(), pa.bool_())
        names = ("path_id", "parent_id", "depth", "symbol", "is_new")
        columns = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)]
        roots = [tree.slice(0, 1).to_pylist()[0] for tree in self.trees.values()]
        with_new = {self.homes[b] for b in self.branches if self.builds[b] > self.joined_build}
        batches = route_paths([pa.RecordBatch.from_arrays(columns, names)], roots=roots, with_new_branches=with_new)
        routed = pa.Table.from_batches(list(batches), ROUTED)
        lines = {b: branch[0] for b, branch in self.branches.items()}
        by_code = {code_of(path): path for path in paths}
        for partition, tree in self.trees.items():
            own = routed.filter(pc.equal(routed.column("partition"), partition))
            pairs = join_partition(tree, own, joined_build=self.joined_build).to_pylist()
            assert len({tuple(pair.values()) for pair in pairs}) == len(pairs)
            self.facts |= {(by_code[pair["path_id"]], pair["text"], lines[pair["branch_id"]]) for pair in pairs}
        self.joined, self.joined_build = set(paths), self.build

    def symbol(self, label: str) -> int:
        symbol = self.symbols.get(label, UNKNOWN)
        return -symbol if label.startswith("@") else symbol

    def check(self, paths: set[str]) -> None:
        held = []
        for tree in self.trees.values():
            assert not check_invariants(load_whole_tree(tree))
            rows = tree.filter(pc.equal(tree.column("level"), 0)).select(["branch_id", "build"]).to_pylist()
            held += [(row["branch_id"], row["build"]) for row in rows]
        assert sorted(held) == sorted((branch, self.builds[branch]) for branch in self.branches)
        live = {branch[0] for branch in self.branches.values()}
        assert {fact for fact in self.facts if fact[2] in live} == brute_force(paths, self.branches.values())


@settings(max_examples=40)
@given(st.randoms(use_true_random=True))
def test_any_sequence_of_changes_gives_what_brute_force_gives(r: Random) -> None:
    index, paths = Index(), set[str]()
    wanted: dict[int, Branch] = {}
    for _ in range(5):
        for _ in range(r.choice((0, 1, 8)) or (not paths)):
            whole = random_path(r).split("/")
            paths |= {"/".join(whole[:end]) for end in range(2, len(whole) + 1)}
        wanted = {b: row for b, row in wanted.items() if r.random() < 0.8}
        wanted |= dict(random_branch(r) for _ in range(r.choice((1, 3, 40))))
        index.change(r, wanted)
        if r.random() < 0.8:
            index.join(paths)
            index.check(paths)


def test_a_branch_belongs_where_the_bounds_are_narrow() -> None:
    columns = [pa.array([1, 5, 9, 40]), pa.array([1] * 4, pa.int32())]
    steps = pa.array([[2 * k, 2] for k in (1, 5, 9, 40)], pa.list_(pa.int32()))
    batch = pa.RecordBatch.from_arrays([*columns, steps], ["branch_id", "build", "steps"])
    (placed,) = choose_partitions([batch], roots=[(3, 1, 20), (4, 5, 8), (5, 21, 30)])
    assert placed.column("partition").to_pylist() == [3, 4, 3, 5]


def test_branches_keep_their_own_partition_whatever_their_order() -> None:
    ids = [9, -3, 5]
    columns = [pa.array(ids), pa.array([1] * 3, pa.int32()), pa.array([[40], [2], [50]], pa.list_(pa.int32()))]
    batch = pa.RecordBatch.from_arrays(columns, ["branch_id", "build", "steps"])
    (placed,) = choose_partitions([batch], roots=[(3, 1, 20), (5, 21, 30)])
    of_branch = dict(zip(placed.column("branch_id").to_pylist(), placed.column("partition").to_pylist(), strict=True))
    assert of_branch == {9: 3, -3: 3, 5: 5}
