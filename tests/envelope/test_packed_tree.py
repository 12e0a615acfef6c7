"""Packed trees: searched one by one and in groups, they give what looking at all pairs gives, and their bounds hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelope.naive import is_subsequence
from envelope.strategies import parameters, tree_parameters
from winnow.envelope import (
    ACCESS,
    ANY_COLUMN,
    FIRST_COLUMN,
    GROUP,
    SYMBOL_MIN,
    EnvelopeTree,
    PackedTree,
    Relation,
    Sequences,
    SequenceSet,
    build_data_tree,
    check_invariants,
    columns_of,
    delete,
    empty_occurrences,
    insert,
    new_scratch,
    note_sequences,
    occurrences,
    pack_rows,
    search_group,
    search_packed,
    starting_points,
)

LABELS = 6
COLUMNS = FIRST_COLUMN + LABELS
WEIGHTS = np.array([2.0, 2.0, 0.1, 0.9, 0.5, 0.5, 0.2, 0.0])
ANY_ELEMENT, ANY_ATTRIBUTE = (0, ACCESS - 1), (SYMBOL_MIN, -1)
Box = tuple[int, int]

label = st.sampled_from([2, 3, 4, 5, -6, -7])  # two of them are of the class of the second wildcard
concrete = label.map(lambda symbol: (symbol, symbol))
row = st.lists(st.one_of(concrete, concrete, concrete, st.sampled_from([ANY_ELEMENT, ANY_ATTRIBUTE])), max_size=5)
rows = st.lists(row, max_size=70)
unknown = st.sampled_from([ACCESS - 1, SYMBOL_MIN])  # labels that no row has
sequence = st.lists(st.one_of(label, label, label, unknown), min_size=1, max_size=9)


def with_access(boxes: list[Box]) -> list[Box]:
    """The row with its access position in front: that of its rarest label."""
    named = [abs(low) for low, high in boxes if low == high]
    access = ACCESS + min(named, key=lambda column: (WEIGHTS[column], column), default=ANY_COLUMN)
    return [(access, access), *boxes]


def data_of(sequences: list[list[int]]) -> Sequences:
    offsets = np.cumsum([0, *map(len, sequences)]).astype(np.int64)
    return Sequences(np.array([s for own in sequences for s in own], np.int32), offsets)


def one_by_one(tree: PackedTree, data: Sequences) -> list[tuple[int, int]]:
    given_, scratch = empty_occurrences(data, COLUMNS, 1), new_scratch(tree)
    found = []
    for d in range(data.offsets.size - 1):
        note_sequences(given_, data, np.arange(data.offsets.size, dtype=np.int32), d, d + 1)
        hits = search_packed(tree, given_, data, d, scratch)
        found += [(d, int(tree.ids[r])) for r in scratch.found[:hits]]
    return sorted(found)


def in_groups(tree: PackedTree, data: Sequences) -> list[tuple[int, int]]:
    given_, scratch = empty_occurrences(data, COLUMNS, GROUP), new_scratch(tree)
    documents = build_data_tree(data, COLUMNS)
    offsets, tops = starting_points(tree, documents, scratch)
    found = []
    for node in documents.lowest:
        first, last = documents.first[node], documents.first[node] + documents.counts[node]
        note_sequences(given_, data, documents.order, first, last)
        hits = search_group(tree, given_, tops[offsets[node] : offsets[node + 1]], scratch)
        for r, met in zip(scratch.found[:hits], scratch.met[:hits].view(np.uint64), strict=True):
            held = [g for g in range(GROUP) if int(met) >> g & 1]
            found += [(int(documents.order[first + g]), int(tree.ids[r])) for g in held]
    return sorted(found)


def by_all_pairs(rows_: dict[int, list[Box]], sequences: list[list[int]]) -> list[tuple[int, int]]:
    return sorted(
        (d, name)
        for d, symbols in enumerate(sequences)
        for name, boxes in rows_.items()
        if is_subsequence(boxes, [(symbol, symbol) for symbol in symbols])
    )


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_searches_give_what_all_pairs_give(data: st.DataObject) -> None:
    """Over insert and delete; there are enough sequences for several groups."""
    alive = dict(enumerate(data.draw(rows)))
    some = data.draw(st.lists(sequence, max_size=12))
    sequences = some * data.draw(st.sampled_from([1, 1, 8, 60]))
    setting = tree_parameters(Relation.SUBSEQUENCE, data.draw(parameters))
    tree = EnvelopeTree.bulk_load(SequenceSet.from_lists([with_access(boxes) for boxes in alive.values()]), setting)
    for turn in range(2):
        packed = pack_rows(tree, WEIGHTS)
        check_bounds(packed)
        expected = by_all_pairs(alive, some)
        repeated = sorted(
            (d + k * len(some), q) for d, q in expected for k in range(len(sequences) // max(len(some), 1))
        )
        assert one_by_one(packed, data_of(sequences)) == repeated
        assert in_groups(packed, data_of(sequences)) == repeated
        gone = data.draw(st.lists(st.sampled_from(sorted(alive)), unique=True)) if alive else []
        new = data.draw(st.lists(row, max_size=20))
        names = [1000 * (turn + 1) + k for k in range(len(new))]
        tree = insert(
            delete(tree, np.array(gone, np.int32)),
            SequenceSet.from_lists([with_access(boxes) for boxes in new]),
            ids=np.array(names, np.int32),
        )
        assert check_invariants(tree) == []
        alive = {name: boxes for name, boxes in alive.items() if name not in gone} | dict(zip(names, new, strict=True))


def check_bounds(tree: PackedTree) -> None:
    """`any` is the interval of the access columns below, `must` has labels that all rows below have."""

    def rows_below(node: int) -> list[int]:
        members = range(tree.first[node], tree.first[node] + tree.counts[node])
        return list(members) if tree.level[node] == 1 else [r for member in members for r in rows_below(member)]

    labels = [tree.columns[tree.starts[r] : tree.starts[r + 1]].tolist() for r in range(tree.ids.size)]
    for node in range(tree.level.size):
        below = [labels[r] for r in rows_below(node)]
        if below:
            access = [own[0] for own in below]
            assert (tree.low[node], tree.high[node]) == (min(access), max(access))
            must = {column for column in tree.must.reshape(len(tree.level), -1)[node].tolist() if column >= 0}
            assert must <= set.intersection(*map(set, below))
            assert len(must) == min(
                4,
                len(
                    must
                    | {c for c in set.intersection(*map(set, below)) if c >= FIRST_COLUMN}
                    - ({access[0]} if len(set(access)) == 1 else set())
                ),
            )
    assert sorted(r for r in rows_below(0)) == list(range(tree.ids.size))


def test_a_row_is_compared_from_where_it_differs() -> None:
    """`shared` and `skip` of rows that begin alike, in one node."""
    boxes = [[(c, c) for c in own] for own in ([2, 3], [2, 3, 4], [2, 3, 5], [2, 4], [2, 5, 3])]
    sequences = SequenceSet.from_lists([with_access(own) for own in boxes])
    packed = pack_rows(EnvelopeTree.bulk_load(sequences, tree_parameters(Relation.SUBSEQUENCE, (12, 32))), WEIGHTS)
    assert packed.shared.tolist() == [0, 3, 3, 2, 2]
    assert packed.skip.tolist() == [5, 3, 3, 5, 5]
    scratch, data = new_scratch(packed), data_of([[4, 2, 5]])
    given_ = empty_occurrences(data, COLUMNS, 1)
    note_sequences(given_, data, np.zeros(1, np.int32), 0, 1)
    assert search_packed(packed, given_, data, 0, scratch) == 0
    assert scratch.tally.tolist() == [1, 5, 3]  # of the five rows: that which begins `2 3`, `2 4` and `2 5 3`


def test_a_long_sequence_is_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost; what stands in one block may be taken for being in order."""
    monkeypatch.setattr(occurrences, "MAX_WORDS", 0)
    r = np.random.default_rng(5)
    boxes = [[(int(c), int(c)) for c in r.integers(FIRST_COLUMN, COLUMNS, size)] for size in r.integers(1, 6, 60)]
    sequences = [r.integers(FIRST_COLUMN, COLUMNS, 4000).tolist() for _ in range(3)]
    sequences += [[2] * 2000 + [3] * 2000, [3] * 2000 + [2] * 2000, [3] * 3999 + [2]]
    boxes += [[(2, 2), (3, 3)], [(3, 3), (2, 2)]]
    tree = EnvelopeTree.bulk_load(
        SequenceSet.from_lists([with_access(own) for own in boxes]),
        tree_parameters(Relation.SUBSEQUENCE, (2, 4)),
    )
    packed, data = pack_rows(tree, WEIGHTS), data_of(sequences)
    room = empty_occurrences(data, COLUMNS, 1)
    assert room.bits.size < 4000 // 64 * (COLUMNS + 2)
    found = one_by_one(packed, data)
    assert found == in_groups(packed, data)
    assert set(found) >= set(by_all_pairs(dict(enumerate(boxes)), sequences))
    assert (4, len(boxes) - 2) not in found  # the order of what is far apart is seen


def test_columns_of_positions() -> None:
    sequences = SequenceSet.from_lists([[ACCESS + 4, 3, -4, ANY_ELEMENT, ANY_ATTRIBUTE]])
    assert columns_of(sequences).tolist() == [4, 3, 4, 0, 1]
