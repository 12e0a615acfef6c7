"""Every node, path and value of real documents, and no harm from documents that are not XML.

A quick run walks every fifth article; `WINNOW_NIGHTLY=1` walks them all.
"""

import gzip
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree

from winnow.encoding import Encoder, PathTable, Status, Vocabulary, concat
from winnow.encoding.tree import encode_content

from .documents import NIGHTLY
from .naive import naive_document
from .test_scan import assert_same

pytestmark = pytest.mark.corpora


def archive(path: Path) -> list[bytes]:
    with tarfile.open(path) as members:
        return [file.read() for member in members if member.isfile() and (file := members.extractfile(member))]


def articles(path: Path) -> list[bytes]:
    root = etree.fromstring(gzip.decompress(path.read_bytes()))
    return [
        etree.tostring(article, with_tail=False, encoding="utf-8") for article in list(root)[:: 1 if NIGHTLY else 5]
    ]


@pytest.mark.parametrize(("name", "read"), [("pubmed-5000.xml.gz", articles), ("invoices-800.tar.gz", archive)])
def test_real_documents(corpora: Path, name: str, read: Callable[[Path], list[bytes]]) -> None:
    contents = read(corpora / name)
    encoder = Encoder(Vocabulary(), PathTable())
    batch = encoder.encode(contents, values=True)
    walked = concat([encode_content(content, encoder.vocabulary, encoder.paths, values=True) for content in contents])
    assert_same(batch._replace(status=walked.status), walked)
    assert (batch.status == Status.SCANNED).mean() > 0.99


def test_documents_that_are_not_xml(corpora: Path) -> None:
    contents = archive(corpora / "malformed-feeds.tar.gz")
    batch = Encoder(Vocabulary(), PathTable()).encode(contents, values=True)
    for document, content in enumerate(contents):
        if naive_document(content) is not None:
            assert batch.status[document] != Status.MALFORMED
