"""What is stored of a batch gives the batch back, array by array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.encoding import EncodedBatch, Encoder, PathTable, Status, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.encoding.restore import restore, stored_values

from .documents import documents, examples


def require_same(contents: list[bytes]) -> EncodedBatch:
    vocabulary, paths = Vocabulary(), PathTable()
    batch = Encoder(vocabulary, paths).encode(contents, values=True)
    is_attribute = PathSymbols(paths, vocabulary).signed() < 0
    again = restore(batch.path, batch.doc_offsets, paths, stored_values(batch, is_attribute))
    for name, was, now in zip(batch._fields, batch, again, strict=True):
        if name != "status":
            assert np.array_equal(was, now), name
    return batch


@settings(max_examples=examples(100))
@given(st.lists(documents(), min_size=1, max_size=4))
def test_any_documents(texts: list[str]) -> None:
    require_same([text.encode() for text in texts])


@pytest.mark.parametrize(
    "content",
    [
        b"<a/>",
        b"<a x='' y='1'/>",
        b"<a>x<b/>y</a>",
        b"<a><b/>x</a>",
        b"<a>x<!-- -->y<b x='2'>z</b></a>",
        b"<a><![CDATA[]]><b><![CDATA[]]></b><c/></a>",
        b"<a><![CDATA[]]><b>y</b><![CDATA[]]><c x='1'/></a>",
        b"<a><b><![CDATA[]]></b><c/>x</a>",
        b"<a><b><c>deep</c></b>tail</a>",
    ],
)
def test_texts_between_elements(content: bytes) -> None:
    assert require_same([content, b"<z>after</z>", content]).documents == 3


def test_deep_documents() -> None:
    content = b"<a>1" * 200 + b"</a>2" * 199 + b"</a>"
    assert require_same([content]).status[0] != Status.MALFORMED
