"""Documents in other encodings are the same documents."""

import pytest

from winnow.documents.transcode import to_utf8
from winnow.encoding import Encoder, PathTable, Status, Vocabulary
from winnow.errors import DataError

from .naive import naive_document, seen_document


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("latin-1", "ISO-8859-1"), ("utf-16", "UTF-16"), ("utf-16-le", "UTF-16"), ("utf-8-sig", "utf-8"), ("utf-8", None)],
)
def test_to_utf8_keeps_the_document(encoding: str, declared: str | None) -> None:
    declaration = f"<?xml version='1.0' encoding = '{declared}' standalone='yes'?>" if declared else ""
    content = f"{declaration}<é a='ü'>ß</é>".encode(encoding)
    encoder = Encoder(Vocabulary(), PathTable())
    batch = encoder.encode([to_utf8(content, encoding)], values=True)
    assert batch.status.tolist() == [Status.SCANNED]
    reference = naive_document("<é a='ü'>ß</é>".encode())
    assert seen_document(batch, 0, encoder.paths, encoder.vocabulary) == reference


@pytest.mark.parametrize(("content", "encoding"), [(b"\xff", "utf-8"), (b"x", "no-such-encoding")])
def test_unreadable_bytes_are_an_error(content: bytes, encoding: str) -> None:
    with pytest.raises(DataError, match="encoding"):
        to_utf8(content, encoding)
