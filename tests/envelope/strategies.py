"""Queries and data drawn from the same few symbols, so that matches are frequent and nodes overlap."""

import numpy as np
from hypothesis import strategies as st

from envelope.naive import Box, Query
from winnow.envelope import ANY, ANY_NEGATIVE, Outlines, Parameters, Relation, SequenceSet

SYMBOLS = 4

concrete = st.integers(-1, SYMBOLS - 1).map(lambda s: (s, s))
wild = st.sampled_from([ANY, ANY_NEGATIVE, (1, 2)])
position = st.one_of(concrete, concrete, concrete, wild)
wild_position = st.one_of(concrete, wild, wild)
data_sequence = st.lists(concrete, max_size=7).map(tuple)
data_sequences = st.lists(data_sequence, max_size=40)


@st.composite
def query(draw: st.DrawFn, *, line: bool) -> Query:
    boxes = draw(st.lists(draw(st.sampled_from([position, wild_position])), max_size=5))
    link = st.sampled_from([0, 1, 1]) if line else st.just(0)
    return Query(tuple(boxes), tuple(draw(link) for _ in boxes))


def queries(*, line: bool) -> st.SearchStrategy[list[Query]]:
    """Some lists repeat few distinct queries many times: duplicates crowd into the same nodes."""
    many = st.lists(query(line=line), max_size=60)
    return st.one_of(
        many, many, st.tuples(st.lists(query(line=line), max_size=3), st.integers(1, 25)).map(lambda t: t[0] * t[1])
    )


parameters = st.sampled_from([(2, 3), (2, 4), (3, 8), (12, 32)])


def tree_parameters(relation: Relation, fanout: tuple[int, int]) -> Parameters:
    return Parameters(relation, *fanout)


def query_set(queries: list[Query]) -> SequenceSet:
    return SequenceSet.from_lists([q.boxes for q in queries], [q.adjacent for q in queries])


def data_set(data: list[tuple[Box, ...]]) -> SequenceSet:
    return SequenceSet.from_lists(data)


def outlines(data: SequenceSet) -> Outlines:
    symbols = [own.tolist() for own in np.split(data.low, data.offsets[1:-1])] if len(data) else []
    labels = [sum({1 << (symbol & 63) for symbol in own}) for own in symbols]
    first, size = [own[0] if own else 0 for own in symbols], [len(own) for own in symbols]
    return Outlines(np.array(first, np.int32), np.array(size, np.int32), np.array(labels, np.uint64))
