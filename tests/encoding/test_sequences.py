"""Bottom-up sequences, against deleting nodes one by one as the paper describes it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.encoding import Encoder, PathTable, Vocabulary, document_sequences, path_sequence

from .documents import documents, examples

_ENCODER = Encoder(Vocabulary(), PathTable())


def naive_sequence(parents: list[int], labels: list[str]) -> list[str]:
    """BoXFilter §2: artificial children under the leaves, then delete in post-order until one node is left."""
    children: dict[int, list[int]] = {node: [] for node in range(len(parents))}
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
    sequence: list[str] = []

    def delete(node: int) -> None:
        for child in children[node]:
            delete(child)
            sequence.append(labels[node])
        if not children[node]:
            sequence.append(labels[node])

    delete(0)
    return sequence


@given(st.lists(documents(), min_size=1, max_size=3))
@settings(max_examples=examples(60), deadline=None)
def test_document_sequences(texts: list[str]) -> None:
    batch = _ENCODER.encode([text.encode() for text in texts], values=False)
    sequences, offsets = document_sequences(batch, _ENCODER.paths.symbols)
    for document in range(batch.documents):
        one = batch.slice(document, document + 1)
        labels = [_ENCODER.vocabulary.label(_ENCODER.paths.symbols[path]) for path in one.path]
        sequence = sequences[offsets[document] : offsets[document + 1]]
        expected = naive_sequence(one.parent.tolist(), labels) if one.nodes else []
        assert [_ENCODER.vocabulary.label(symbol) for symbol in sequence] == expected


def test_a_line_is_its_labels_from_leaf_to_root() -> None:
    batch = _ENCODER.encode([b"<a><b><c/></b></a>"], values=False)
    sequences, _ = document_sequences(batch, _ENCODER.paths.symbols)
    assert [_ENCODER.vocabulary.label(symbol) for symbol in sequences] == ["c", "b", "a"]
    assert path_sequence(int(batch.path[2]), _ENCODER.paths).tolist() == sequences.tolist()
