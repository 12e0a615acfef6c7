"""The symbol order changes how much is pruned, never what is found."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelope import naive
from envelope.strategies import data_set, parameters
from envelope.test_join import listed
from winnow.envelope import (
    ANY,
    ANY_NEGATIVE,
    EnvelopeTree,
    Parameters,
    Relation,
    SequenceSet,
    SymbolOrder,
    check_invariants,
    from_rows,
    insert,
    join,
    search_many,
    symbol_order,
    to_rows,
)
from winnow.errors import DataError, UsageError

symbol = st.integers(-3, 4).map(lambda s: (s, s))
query = st.lists(st.one_of(symbol, symbol, st.sampled_from([ANY, ANY_NEGATIVE])), max_size=4).map(tuple)
line = st.lists(symbol, max_size=6).map(tuple)


@settings(deadline=None, max_examples=60)
@given(st.lists(query, max_size=30), st.lists(query, max_size=15), st.lists(line, max_size=20), parameters)
def test_answers_do_not_depend_on_the_order(
    early: list[tuple[naive.Box, ...]],
    late: list[tuple[naive.Box, ...]],
    data: list[tuple[naive.Box, ...]],
    fanout: tuple[int, int],
) -> None:
    """Symbols of `late` and `data` may be unknown to the order, which was made from `early`."""
    order = symbol_order(SequenceSet.from_lists(early))
    setting = Parameters(Relation.SUBSEQUENCE, *fanout, order=order)
    tree = EnvelopeTree.bulk_load(SequenceSet.from_lists(early), setting)
    names = np.arange(len(early), len(early) + len(late), dtype=np.int32)
    tree = insert(tree, SequenceSet.from_lists(late), ids=names)
    asked = [naive.Query(boxes, (0,) * len(boxes)) for boxes in early + late]
    expected = naive.join(asked, data, line=False)
    assert check_invariants(tree) == []
    assert listed(search_many(tree, data_set(data))) == expected
    assert listed(join(tree, data_set(data))) == expected
    loaded = from_rows(to_rows(tree))
    assert loaded.parameters == tree.parameters
    assert listed(search_many(loaded, data_set(data))) == expected


KINDS, LABELS = 8, 24


def kinds_of_documents(random: np.random.Generator) -> tuple[SequenceSet, SequenceSet]:
    """Queries (some positions wild) and documents of eight vocabularies; labels are numbered as they arrived: mixed."""
    number = random.permutation(KINDS * LABELS)

    def draw(count: int, length: int, wild: float) -> SequenceSet:
        kind = random.integers(0, KINDS, (count, 1))
        symbols = number[kind * LABELS + random.integers(0, LABELS, (count, length))].astype(np.int32).ravel()
        anything = random.random(count * length) < wild
        low, high = np.where(anything, ANY[0], symbols), np.where(anything, ANY[1], symbols)
        return SequenceSet(np.arange(0, count * length + 1, length), low, high)

    return draw(4000, 5, 0.15), draw(400, 30, 0.0)


def test_symbols_that_occur_together_prune_more_side_by_side() -> None:
    random = np.random.default_rng(5)
    queries, documents = kinds_of_documents(random)

    def cost(order: SymbolOrder) -> tuple[int, int]:
        setting = Parameters(Relation.SUBSEQUENCE, order=order)
        counters = join(EnvelopeTree.bulk_load(queries, setting), documents).counters
        return counters.node_pairs, counters.leaf_pairs

    arbitrary = [cost(SymbolOrder(tuple(random.permutation(KINDS * LABELS).tolist()))) for _ in range(3)]
    node_pairs, leaf_pairs = cost(symbol_order(queries))
    assert node_pairs < 0.6 * min(nodes for nodes, _ in arbitrary)
    assert leaf_pairs < 0.75 * min(leaves for _, leaves in arbitrary)


def test_orders_that_could_confuse_symbols_are_refused() -> None:
    with pytest.raises(DataError, match="no permutation"):
        SymbolOrder((0, 0))
    order = SymbolOrder((1, 0, 2))
    with pytest.raises(DataError, match="part of a class"):
        EnvelopeTree.bulk_load(SequenceSet.from_lists([[(0, 1)]]), Parameters(order=order))
    one, other = (
        EnvelopeTree.bulk_load(SequenceSet.from_lists([[1]]), Parameters(order=o)) for o in (order, SymbolOrder())
    )
    with pytest.raises(UsageError, match="order symbols differently"):
        join(one, other)
