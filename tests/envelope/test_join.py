"""The join and the searches give exactly the pairs that the naive twin gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelope import naive
from envelope.strategies import data_sequences, data_set, outlines, parameters, queries, query_set, tree_parameters
from winnow.envelope import ANY, EnvelopeTree, Pairs, Relation, SequenceSet, could_hold, join, search, search_many
from winnow.errors import UsageError


def listed(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(pairs.data.tolist(), pairs.queries.tolist(), strict=True))


@pytest.mark.parametrize("relation", list(Relation))
@settings(deadline=None)  # the first call may compile
@given(data=st.data())
def test_join_and_searches_equal_the_naive_twin(relation: Relation, data: st.DataObject) -> None:
    line = relation is Relation.LINE
    asked, given_ = data.draw(queries(line=line)), data.draw(data_sequences)
    query_parameters = tree_parameters(relation, data.draw(parameters))
    data_parameters = tree_parameters(relation, data.draw(parameters))
    expected = naive.join(asked, given_, line=line)
    tree = EnvelopeTree.bulk_load(query_set(asked), query_parameters)
    data_tree = EnvelopeTree.bulk_load(data_set(given_), data_parameters)

    pairs = join(tree, data_tree)
    assert listed(pairs) == expected
    assert pairs.counters.results == len(expected) <= pairs.counters.candidates <= pairs.counters.leaf_pairs
    assert listed(join(query_set(asked), data_tree)) == expected
    assert listed(join(tree, data_set(given_))) == expected
    assert listed(search_many(tree, data_set(given_))) == expected
    if line:
        assert could_hold(tree, outlines(data_set(given_)))[pairs.data].all()


@pytest.mark.parametrize(
    ("path", "branch", "links", "matches"),
    [
        ([1, 2, 3], [1, 2, 3], [1, 1, 1], True),  # /3/2/1
        ([1, 2, 3], [1, 2], [1, 1], False),  # /2/1 does not start at the root
        ([1, 2, 3], [1, 2], [1, 0], True),  # //2/1
        ([1, 2, 3], [2, 3], [1, 1], False),  # the leaf must be the leaf
        ([1, 2, 3], [1, 3], [0, 1], True),  # /3//1
        ([1, 2, 2, 3], [1, 2, 3], [0, 1, 1], True),  # the first 2 is not the one below 3: /3/2//1
        ([1, 2, 9, 2, 3, 4], [1, 2, 3], [0, 1, 0], True),  # //3/2//1
        ([1, 2, 9, 2, 8, 4], [1, 2, 3], [0, 1, 0], False),
        ([1, 5, 5], [1, ANY, 5], [1, 1, 1], True),  # /5/*/1
        ([1], [ANY], [0], True),
        ([], [ANY], [0], False),
        ([], [], [], True),
    ],
)
def test_line_cases(path: list[int], branch: list[int | tuple[int, int]], links: list[int], matches: bool) -> None:
    tree = EnvelopeTree.bulk_load(SequenceSet.from_lists([branch], [links]))
    assert search(tree, SequenceSet.from_lists([path])).tolist() == ([0] if matches else [])


def test_ids_name_the_answers() -> None:
    ids = np.array([70, 7], np.int32)
    tree = EnvelopeTree.bulk_load(SequenceSet.from_lists([[1], [1]]), ids=ids)
    data = EnvelopeTree.bulk_load(SequenceSet.from_lists([[1], [2]]), ids=np.array([9, 8], np.int32))
    assert listed(join(tree, data)) == [(9, 7), (9, 70)]


def test_trees_of_different_relations_do_not_join() -> None:
    line = EnvelopeTree.bulk_load(SequenceSet.from_lists([[1]]))
    subsequence = EnvelopeTree.bulk_load(SequenceSet.from_lists([[1]]), tree_parameters(Relation.SUBSEQUENCE, (2, 4)))
    with pytest.raises(UsageError, match="LINE and SUBSEQUENCE"):
        join(line, subsequence)
