"""Trees as rows of a table, and the checker that audits use."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelope.strategies import data_sequences, data_set, parameters, queries, query_set, tree_parameters
from envelope.test_join import listed
from envelope.test_maintain import lines
from winnow.envelope import (
    EnvelopeTree,
    Relation,
    SequenceSet,
    TreeRows,
    check_invariants,
    delete,
    from_rows,
    nodes_at,
    search_many,
    subtree,
    to_rows,
)
from winnow.errors import DataError


def shuffled(rows: TreeRows, seed: int) -> TreeRows:
    """Tables give rows back in any order."""
    columns, offsets = rows.columns, rows.columns["offsets"]
    order = np.random.default_rng(seed).permutation(len(columns["node_id"]))
    flat = np.concatenate([np.arange(offsets[k], offsets[k + 1]) for k in order] + [np.empty(0, np.int64)]).astype(int)
    lists = {"low", "high", "adjacent"}
    mixed = {name: column[flat] if name in lists and len(column) else column for name, column in columns.items()}
    mixed |= {name: column[order] for name, column in columns.items() if name not in lists | {"offsets"}}
    mixed["offsets"] = np.append(0, np.cumsum(np.diff(offsets)[order]))
    return TreeRows(mixed, rows.parameters)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_round_trip_of_the_tree_and_of_each_partition(data: st.DataObject) -> None:
    asked, given_ = data.draw(queries(line=True)), data_set(data.draw(data_sequences))
    tree = EnvelopeTree.bulk_load(query_set(asked), tree_parameters(Relation.LINE, data.draw(parameters)))
    gone = data.draw(st.lists(st.sampled_from(range(len(asked))), unique=True)) if asked else []
    tree = delete(tree, np.array(gone, np.int32))
    expected = listed(search_many(tree, given_))

    loaded = from_rows(shuffled(to_rows(tree), 1))
    assert loaded.parameters == tree.parameters
    assert check_invariants(loaded) == []
    assert listed(search_many(loaded, given_)) == expected

    level = data.draw(st.integers(1, tree.height))
    parts = [from_rows(to_rows(subtree(tree, int(node)))) for node in nodes_at(tree, level)]
    assert [problem for part in parts for problem in check_invariants(part)] == []
    assert sum(len(part) for part in parts) == len(tree)
    assert sorted(pair for part in parts for pair in listed(search_many(part, given_))) == expected


def test_rows_of_another_version_or_of_half_a_tree_are_refused() -> None:
    rows = to_rows(EnvelopeTree.bulk_load(lines(100, 1)))
    with pytest.raises(DataError, match="format 99, this release reads format 1"):
        from_rows(TreeRows(rows.columns, rows.parameters | {"version": 99}))
    half = {name: column[: len(column) // 2] for name, column in rows.columns.items()}
    with pytest.raises(DataError, match="not those of one whole tree"):
        from_rows(TreeRows(half, rows.parameters))


def narrow(tree: EnvelopeTree) -> None:
    tree.arrays.nodes.positions["high"][0] -= 1


def forget_label(tree: EnvelopeTree) -> None:
    tree.arrays.nodes.heads["may"][tree.root] = 0


def lengthen(tree: EnvelopeTree) -> None:
    tree.arrays.nodes.heads["shortest"][tree.root] += 1


def tie(tree: EnvelopeTree) -> None:
    tree.arrays.nodes.positions["adjacent"][tree.arrays.nodes.heads["start"][tree.root]] ^= 1


def anchor(tree: EnvelopeTree) -> None:
    tree.arrays.nodes.heads["top"][tree.root] = 1


def repeat_id(tree: EnvelopeTree) -> None:
    tree.arrays.ids[0] = tree.arrays.ids[1]


def lose_member(tree: EnvelopeTree) -> None:
    tree.arrays.counts[0] -= 1


def underfill(tree: EnvelopeTree) -> None:
    tree.arrays.counts[0] = 1


def swap_levels(tree: EnvelopeTree) -> None:
    tree.arrays.slots[tree.root, 0] = tree.root


def share_child(tree: EnvelopeTree) -> None:
    tree.arrays.slots[tree.root, 0] = tree.arrays.slots[tree.root, 1]


def mislabel(tree: EnvelopeTree) -> None:
    tree.arrays.rows.heads["must"][0] ^= np.uint64(1)


@pytest.mark.parametrize(
    ("corrupt", "message"),
    [
        (narrow, "envelope of its members: positions"),
        (forget_label, "may"),
        (lengthen, "lengths"),
        (tie, "positions"),
        (anchor, "top"),
        (mislabel, "labels of row 0"),
        (repeat_id, "2 times"),
        (lose_member, "but 299 are in it"),
        (underfill, "has 1 members"),
        (swap_levels, "out of balance"),
        (share_child, "cannot be reached"),
    ],
)
def test_the_checker_sees_seeded_corruptions(corrupt: Callable[[EnvelopeTree], None], message: str) -> None:
    tree = EnvelopeTree.bulk_load(lines(300, 7))
    assert check_invariants(tree) == []
    corrupt(tree)
    assert message in "; ".join(check_invariants(tree))


def test_the_checker_counts() -> None:
    tree = EnvelopeTree.bulk_load(SequenceSet.from_lists([[1], [2]]))
    assert check_invariants(replace(tree, size=3)) == ["the tree says it has 3 sequences, but 2 are in it"]
