"""The worked example of the BoXFilter paper (Figures 6 and 7, with the sequences of its slides)."""

import numpy as np

from winnow.envelope import EnvelopeTree, Parameters, Relation, SequenceSet, delete, search

PROFILES = ("abcabababcd", "cdcdecdcdec", "dedededebab")
LOWER, UPPER = "abcabababab", "dedeeededed"


def symbols(letters: str) -> list[int]:
    return [ord(letter) - ord("a") for letter in letters]


def letters(bounds: np.ndarray) -> str:
    return "".join(chr(ord("a") + symbol) for symbol in bounds.tolist())


def tree_of(profiles: tuple[str, ...]) -> EnvelopeTree:
    sequences = SequenceSet.from_lists([symbols(profile) for profile in profiles])
    return EnvelopeTree.bulk_load(sequences, Parameters(relation=Relation.SUBSEQUENCE))


def test_the_bounds_of_three_sequences() -> None:
    tree = tree_of(PROFILES)
    assert tree.height == 1
    envelope = tree.arrays.nodes.positions
    assert (letters(envelope["low"]), letters(envelope["high"])) == (LOWER, UPPER)


def test_a_document_outside_the_envelope_meets_none_of_them() -> None:
    """Lemma 2; and a document that holds a sequence meets it, whatever stands between."""
    tree = tree_of(PROFILES)

    def found(document: str) -> list[int]:
        return search(tree, SequenceSet.from_lists([symbols(document)])).tolist()

    assert found("ab" * 5) == []  # shorter than the envelope
    assert found("a" * 20) == []  # position 2 of the envelope begins with b
    assert found("abcfabfabababfcffd") == [0]
    assert found("abcabababcdcdecdcdec") == [0, 1]
    assert found(LOWER) == []  # within the bounds, and yet none of the sequences


def test_the_envelope_shrinks_with_what_it_holds() -> None:
    tree = delete(tree_of(PROFILES), np.array([2], np.int32))
    head = tree.arrays.nodes.heads[tree.root]
    envelope = tree.arrays.nodes.positions[head["start"] : head["start"] + head["longest"]]
    assert letters(envelope["low"]) == "abcabababcc"
    assert letters(envelope["high"]) == "cdcdecdcded"
