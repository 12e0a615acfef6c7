"""Insert and delete, mixed with search, give the same answers as a tree built afresh, and keep every invariant."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelope import naive
from envelope.naive import Query
from envelope.strategies import data_sequences, data_set, parameters, queries, query, query_set, tree_parameters
from envelope.test_join import listed
from winnow.envelope import (
    EnvelopeTree,
    Relation,
    SequenceSet,
    check_invariants,
    delete,
    insert,
    join,
    nodes_at,
    search_many,
    subtree,
)
from winnow.errors import DataError, UsageError


def ids(names: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(names, np.int32)


@pytest.mark.parametrize("relation", list(Relation))
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_interleaving_equals_a_fresh_build(relation: Relation, data: st.DataObject) -> None:
    line = relation is Relation.LINE
    setting = tree_parameters(relation, data.draw(parameters))
    given_ = data.draw(data_sequences)
    alive: dict[int, Query] = dict(enumerate(data.draw(queries(line=line))))
    tree = EnvelopeTree.bulk_load(query_set(list(alive.values())), setting)
    fresh = len(alive)
    for _ in range(data.draw(st.integers(1, 4))):
        gone = data.draw(st.lists(st.sampled_from(sorted(alive)), unique=True)) if alive else []
        before, tree = tree, delete(tree, ids(gone))
        alive = {name: q for name, q in alive.items() if name not in gone}
        assert check_invariants(tree) == []
        batch = data.draw(st.lists(query(line=line), max_size=30))
        names = [fresh + k for k in range(len(batch) - len(gone))] + gone  # ids may come back
        names = names[: len(batch)]
        fresh += len(batch)
        tree = insert(tree, query_set(batch), ids=ids(names))
        alive |= dict(zip(names, batch, strict=True))
        assert check_invariants(tree) == []
        assert check_invariants(before) == []  # old trees stay as they were
    order = sorted(alive)
    expected = [(d, order[q]) for d, q in naive.join([alive[name] for name in order], given_, line=line)]
    assert listed(search_many(tree, data_set(given_))) == expected
    assert listed(join(tree, data_set(given_))) == expected
    parts = [search_many(subtree(tree, int(node)), data_set(given_)) for node in nodes_at(tree, 1)]
    assert sorted(pair for part in parts for pair in listed(part)) == expected


def lines(count: int, seed: int) -> SequenceSet:
    """Random lines over 30 symbols, lengths 1 to 8."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 9, count)
    symbols = random.integers(0, 30, lengths.sum()).astype(np.int32)
    links = (random.random(lengths.sum()) < 0.9).astype(np.uint8)
    return SequenceSet(np.append(0, np.cumsum(lengths)), symbols, symbols, links)


def test_many_inserts_and_deletes_stay_tight_and_balanced() -> None:
    tree = EnvelopeTree.bulk_load(lines(3000, 1))
    tree = insert(tree, lines(2500, 2), ids=np.arange(3000, 5500, dtype=np.int32))
    assert check_invariants(tree) == []
    gone = np.random.default_rng(3).permutation(5500).astype(np.int32)
    tree = delete(tree, gone[:2000])
    assert check_invariants(tree) == []
    tree = delete(tree, gone[2000:5450])
    assert check_invariants(tree) == []
    assert len(tree) == 50
    tree = delete(tree, gone[5450:])
    assert check_invariants(tree) == []
    assert (len(tree), tree.height) == (0, 1)
    tree = insert(tree, lines(5, 4), ids=np.arange(5, dtype=np.int32))
    assert len(tree) == 5


def test_two_trees_grow_from_one_without_disturbing_each_other() -> None:
    base = EnvelopeTree.bulk_load(SequenceSet.from_lists([[1], [2], [3]]))
    left = insert(base, SequenceSet.from_lists([[4]]), ids=ids([4]))
    right = insert(base, SequenceSet.from_lists([[5]]), ids=ids([5]))
    probe = SequenceSet.from_lists([[k] for k in range(6)])
    assert [search_many(t, probe).queries.tolist() for t in (base, left, right)] == [
        [0, 1, 2],
        [0, 1, 2, 4],
        [0, 1, 2, 5],
    ]


def test_unknown_and_repeated_ids_are_refused() -> None:
    tree = EnvelopeTree.bulk_load(SequenceSet.from_lists([[1], [2]]))
    with pytest.raises(DataError, match="1 ids are not in the tree, 9 for one"):
        delete(tree, ids([1, 9]))
    with pytest.raises(DataError, match="1 ids are in the tree already, 1 for one"):
        insert(tree, SequenceSet.from_lists([[3]]), ids=ids([1]))
    with pytest.raises(DataError, match="more than one"):
        insert(tree, SequenceSet.from_lists([[3], [4]]), ids=ids([7, 7]))
    with pytest.raises(UsageError, match="no node 12"):
        subtree(tree, 12)
