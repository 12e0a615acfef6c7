"""Vocabulary and path table: ids are stable, rows make the trip to a table and back, conflicts are errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.encoding import DOCUMENT_PATH, TEXT_LABEL, TEXT_SYMBOL, Encoder, PathTable, Vocabulary
from winnow.errors import DataError
from winnow.xpath.pattern import Kind

_labels = st.lists(st.sampled_from(["a", "b", "{u}a", "@a", "@{u}a", "c", "é"]), max_size=12)
_trees = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), max_size=20)


def vocabulary_of(labels: list[str]) -> Vocabulary:
    vocabulary = Vocabulary()
    for label in labels:
        vocabulary.add(label)
    return vocabulary


def paths_of(steps: list[tuple[int, int]]) -> PathTable:
    paths = PathTable()
    for parent, symbol in steps:
        paths.add(min(parent, len(paths) - 1), symbol)
    return paths


@given(_labels, st.randoms())
def test_vocabulary_round_trip_in_any_order(labels: list[str], random: object) -> None:
    vocabulary = vocabulary_of(labels)
    rows = list(vocabulary.rows())
    random.shuffle(rows)  # type: ignore[attr-defined]
    again = Vocabulary(rows)
    assert again.labels() == vocabulary.labels()
    assert again.kinds().tolist() == vocabulary.kinds().tolist()


@given(_trees, st.randoms())
def test_paths_round_trip_in_any_order(steps: list[tuple[int, int]], random: object) -> None:
    paths = paths_of(steps)
    rows = list(paths.rows())
    random.shuffle(rows)  # type: ignore[attr-defined]
    again = PathTable(rows)
    for column in ("parents", "symbols", "depths"):
        assert getattr(again, column).tolist() == getattr(paths, column).tolist()


def test_rows_added_elsewhere_continue_the_table() -> None:
    here, there = vocabulary_of(["a", "b"]), vocabulary_of(["a", "b"])
    before = len(there)
    there.add("c")
    here.extend(there.rows(start=before))
    assert here.find("c") == there.find("c") == before
    here.extend(there.rows())  # again: nothing changes
    assert len(here) == len(there)


@pytest.mark.parametrize(
    "rows", [[(1, "b")], [(2, "a")], [(3, "x")], [(2, "x"), (3, "x")], [(0, "a")], [(2, "x"), (2, "y")]]
)
def test_vocabulary_conflicts_are_errors_and_change_nothing(rows: list[tuple[int, str]]) -> None:
    vocabulary = vocabulary_of(["a"])
    with pytest.raises(DataError):
        vocabulary.extend(rows)
    assert vocabulary.labels() == (TEXT_LABEL, "a")


@pytest.mark.parametrize(
    "rows", [[(1, 0, 8)], [(2, 0, 7)], [(3, 0, 1)], [(2, 2, 1)], [(2, -1, 1)], [(2, 1, 5), (3, 1, 5)]]
)
def test_path_conflicts_are_errors_and_change_nothing(rows: list[tuple[int, int, int]]) -> None:
    paths = paths_of([(0, 7)])
    with pytest.raises(DataError):
        paths.extend(rows)
    assert list(paths.rows()) == [(1, 0, 7)]


@given(_trees, _trees)
@settings(max_examples=50)
def test_tables_grown_apart_can_be_merged(mine: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
    words, other_words = vocabulary_of(list("abcde")), vocabulary_of(list("edcba"))
    paths, other_paths = paths_of(mine), paths_of(theirs)
    kept = list(paths.rows())
    mapping = paths.merge(other_paths, words.merge(other_words))
    assert list(paths.rows())[: len(kept)] == kept
    for path in range(len(other_paths)):
        assert paths.labels(int(mapping[path]), words) == other_paths.labels(path, other_words)


def test_reserved_ids() -> None:
    vocabulary = vocabulary_of(["a", "@a"])
    assert vocabulary.label(TEXT_SYMBOL) == TEXT_LABEL
    assert vocabulary.kinds().tolist() == [Kind.TEXT, Kind.ELEMENT, Kind.ATTRIBUTE]
    assert PathTable().labels(DOCUMENT_PATH, vocabulary) == ()


def test_new_documents_only_add() -> None:
    vocabulary, paths = Vocabulary(), PathTable()
    encoder = Encoder(vocabulary, paths)
    encoder.encode([b"<a><b x='1'/></a>"], values=False)
    labels, rows = vocabulary.labels(), list(paths.rows())
    encoder.encode([b"<a><b y='1'><c/></b></a>", b"<!DOCTYPE z []><z/>"], values=False)
    assert vocabulary.labels()[: len(labels)] == labels
    assert list(paths.rows())[: len(rows)] == rows
