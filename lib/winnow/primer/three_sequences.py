"""The example of BoXFilter's slides: three profiles as sequences of letters, their envelope, and four documents."""

from typing import NamedTuple

import numpy as np

from winnow.envelope import EnvelopeTree, Parameters, Relation, SequenceSet, join, search_many
from winnow.primer.drawing import Drawing

SEQUENCES = ("abcabababcd", "cdcdecdcdec", "dedededebab")
DOCUMENTS = ("ababababab", "aaaaaaaaaaaaaaaaaaaa", "abcfabfabababfcffd", "abcabababcdcdecdcdec")
_CELL = 26


class Searched(NamedTuple):
    """What became of one document."""

    letters: str
    is_within: bool  # the bounds of the envelope
    found: tuple[int, ...]  # sequences that lie in it


class Example(NamedTuple):
    lower: str
    upper: str
    documents: tuple[Searched, ...]
    leaf_pairs: int  # that the join has compared
    pairs: int  # that it has found


def run() -> Example:
    tree = EnvelopeTree.bulk_load(_set(SEQUENCES), Parameters(relation=Relation.SUBSEQUENCE))
    bounds = tree.arrays.nodes.positions
    searched = []
    for letters in DOCUMENTS:
        found = search_many(tree, _set((letters,)))
        searched.append(Searched(letters, found.counters.leaf_pairs > 0, tuple(found.queries.tolist())))
    joined = join(tree, EnvelopeTree.bulk_load(_set(DOCUMENTS), tree.parameters))
    if joined.queries.size != sum(len(document.found) for document in searched):
        raise AssertionError("the join of two trees found other pairs than the searches")
    leaf_pairs = sum(len(SEQUENCES) for document in searched if document.is_within)
    return Example(_letters(bounds["low"]), _letters(bounds["high"]), tuple(searched), leaf_pairs, joined.queries.size)


def _set(rows: tuple[str, ...]) -> SequenceSet:
    return SequenceSet.from_lists([[ord(letter) - ord("a") for letter in row] for row in rows])


def _letters(symbols: "np.ndarray[tuple[int], np.dtype[np.int32]]") -> str:
    return "".join(chr(ord("a") + symbol) for symbol in symbols.tolist())


def draw_envelope(example: Example) -> str:
    picture = Drawing(
        "Three sequences and their envelope",
        "Three rows of eleven letters; below them the least and the greatest letter of each position.",
    )
    rows = [(f"profile {k + 1}", letters, "box") for k, letters in enumerate(SEQUENCES)]
    rows += [("lower bound", example.lower, "bound"), ("upper bound", example.upper, "bound")]
    for number, (name, letters, kind) in enumerate(rows):
        y = 52 + number * 34 + (14 if kind == "bound" else 0)
        picture.words(20, y + 18, name)
        for k, letter in enumerate(letters):
            picture.box(130 + k * _CELL, y, _CELL - 3, _CELL, kind=kind, words=letter, font="code")
    for k in range(max(map(len, SEQUENCES))):
        picture.words(137 + k * _CELL, 252, str(k + 1), "soft")
    picture.words(20, 252, "position", "soft")
    lines = (
        "At each position the bounds are the least and the",
        "greatest letter that some profile has there.",
        "They end where the shortest profile ends.",
        "A document can only contain one of the profiles",
        "if it has, in this order, a letter within the bounds",
        "of each position.",
    )
    for k, words in enumerate(lines):
        picture.words(470, 72 + 24 * k, words)
    return picture.svg()


def draw_search(example: Example) -> str:
    picture = Drawing(
        "A tree of one node, searched with four documents",
        "For each document whether the envelope lets it through, and which of the three profiles lie in it.",
    )
    picture.words(20, 62, "document", "soft")
    picture.words(330, 62, "envelope", "soft")
    for k in range(len(SEQUENCES)):
        picture.words(530 + 110 * k, 62, f"profile {k + 1}", "soft")
    for number, document in enumerate(example.documents):
        y = 76 + 36 * number
        picture.words(20, y + 18, document.letters, "code")
        within = "within the bounds" if document.is_within else "outside the bounds"
        picture.box(330, y, 170, 26, kind="bound" if document.is_within else "skipped", words=within)
        for k in range(len(SEQUENCES)):
            kind = "match" if k in document.found else "compared" if document.is_within else "skipped"
            words = {"match": "lies in it", "compared": "does not", "skipped": "not looked at"}[kind]
            picture.box(530 + 110 * k, y, 100, 26, kind=kind, words=words)
    y = 76 + 36 * len(example.documents) + 30
    pairs = len(SEQUENCES) * len(example.documents)
    picture.words(
        20,
        y,
        f"Of {pairs} pairs of document and profile the envelope left {example.leaf_pairs}; in {example.pairs} of them"
        " the profile's sequence lies in the document's.",
    )
    return picture.svg()
