"""What acceptance, encoder and libxml2 say of the same bytes, compared: nobody may contradict another."""

from typing import NamedTuple

import numpy as np

from encoding.naive import naive_document, seen_document
from winnow.documents.acceptance import bounds_of
from winnow.documents.transcode import to_utf8
from winnow.encoding import EncodedBatch, Encoder, PathTable, Status, Vocabulary
from winnow.encoding.tree import encode_tree
from winnow.ingest.accept import Accepted, Limits, Refused, accept
from winnow.parsing import parse

LIMITS = Limits()
TIGHT = Limits(max_bytes=300, max_nodes=12, max_name_bytes=4)
_MAX_PATHS = 200_000


class Encoders:
    """One encoder for many documents, begun anew before its tables grow large."""

    def __init__(self) -> None:
        self.current = Encoder(Vocabulary(), PathTable())

    def get(self) -> Encoder:
        if len(self.current.paths) > _MAX_PATHS:
            self.current = Encoder(Vocabulary(), PathTable())
        return self.current


class Judged(NamedTuple):
    verdict: Accepted | Refused
    difference: str = ""  # empty: all agree
    proven: bool = False  # by the scanner alone


def judge(content: bytes, encoders: Encoders, *, slowly: bool = True) -> Judged:
    """Accepts, encodes the stored bytes and their UTF-8 form, and compares the nodes with those of libxml2's tree.

    Before that, the scanner says what it can prove, within two sets of limits, with and without values: whatever is
    proven must be accepted. `slowly` asks libxml2 for every node by an XPath; otherwise its tree is walked once.
    """
    verdict = accept(content, LIMITS)
    encoder = encoders.get()
    if wrong := _wrongly_proven(content, encoder, TIGHT) or _wrongly_proven(content, encoder, LIMITS):
        return Judged(verdict, wrong)
    if isinstance(verdict, Refused):
        return Judged(verdict, "" if verdict.reason and verdict.message else "refused without a reason")
    stored = content if verdict.encoding == "utf-8" else to_utf8(content, verdict.encoding)
    for form in dict.fromkeys((content, stored)):
        batch = encoder.encode([form], values=True)
        if batch.status[0] == Status.MALFORMED:
            return Judged(verdict, "accepted and not encoded")
        if slowly or batch.status[0] == Status.WALKED:
            seen = seen_document(batch, 0, encoder.paths, encoder.vocabulary)
            if seen != naive_document(content):
                return Judged(verdict, "other nodes than libxml2's")
        elif not _same(batch, encode_tree(parse(content), encoder.vocabulary, encoder.paths, values=True)):
            return Judged(verdict, "other arrays than those of libxml2's tree")
        bare = encoder.encode([form], values=False)
        if not np.array_equal(bare.path, batch.path) or not np.array_equal(bare.end, batch.end):
            return Judged(verdict, "another structure without values")
    return Judged(verdict, proven=_proven(content, encoder, LIMITS, values=True).status[0] == Status.SCANNED)


def _proven(content: bytes, encoder: Encoder, limits: Limits, *, values: bool) -> EncodedBatch:
    return encoder.encode([content], values=values, bounds=bounds_of(limits))


def _wrongly_proven(content: bytes, encoder: Encoder, limits: Limits) -> str:
    for values in (True, False):
        batch = _proven(content, encoder, limits, values=values)
        if batch.status[0] == Status.UNPROVEN:
            if batch.nodes:
                return "unproven and with nodes"
        elif isinstance(accept(content, limits), Refused):
            return "proven and refused"
        elif not _same(batch, encoder.encode([content], values=values)):
            return "proven with other nodes"
    return ""


def _same(left: EncodedBatch, right: EncodedBatch) -> bool:
    return all(
        np.array_equal(a, b) for name, a, b in zip(left._fields, left, right, strict=True) if name not in {"status"}
    )
