"""Encode documents that nobody has judged yet: the scanner proves most of them, libxml2 is asked about the rest."""

from collections.abc import Callable, Sequence

import numpy as np

from winnow.encoding import EncodedBatch, Encoder, Status, concat
from winnow.encoding.batch import Bytes, Ints, Longs
from winnow.encoding.layout import Bounds
from winnow.encoding.select import select_documents
from winnow.ingest.accept import MAX_EXPANDED_NAMES, Limits, Refused, accept


def encode_accepted(
    encoder: Encoder, documents: Sequence[bytes], limits: Limits, *, values: bool
) -> tuple[EncodedBatch, dict[int, Refused]]:
    """Returns all documents, in place, and by number why some were refused: these are malformed and have no nodes.

    >>> from winnow.encoding import PathTable, Vocabulary
    >>> encoder = Encoder(Vocabulary(), PathTable())
    >>> batch, refused = encode_accepted(encoder, [b"<a/>", b"<a>", b"<!DOCTYPE a><a/>"], Limits(), values=False)
    >>> [Status(status).name for status in batch.status], refused[1].line
    (['SCANNED', 'MALFORMED', 'SCANNED'], 1)
    """
    read = [content if len(content) <= limits.max_bytes else b"" for content in documents]
    batch = encoder.encode(read, values=values, bounds=bounds_of(limits))
    return _judge_unproven(encoder, batch, documents.__getitem__, limits)


def encode_accepted_buffer(
    encoder: Encoder, data: Bytes, offsets: Longs | Ints, limits: Limits, *, values: bool
) -> tuple[EncodedBatch, dict[int, Refused]]:
    """As `encode_accepted`: documents `data[offsets[d]:offsets[d + 1]]`, the layout of an Arrow binary column."""
    batch = encoder.encode_buffer(data, offsets, values=values, bounds=bounds_of(limits))
    return _judge_unproven(encoder, batch, lambda d: data[offsets[d] : offsets[d + 1]].tobytes(), limits)


def bounds_of(limits: Limits) -> Bounds:
    """What the scanner needs to know to accept as `accept` does."""
    return Bounds(limits.max_bytes, limits.max_nodes, limits.max_name_bytes, MAX_EXPANDED_NAMES)


def _judge_unproven(
    encoder: Encoder, batch: EncodedBatch, content: Callable[[int], bytes], limits: Limits
) -> tuple[EncodedBatch, dict[int, Refused]]:
    unproven = batch.status == Status.UNPROVEN
    if not unproven.any():
        return batch, {}
    accepted: dict[int, bytes] = {}
    refused: dict[int, Refused] = {}
    for document in np.flatnonzero(unproven).tolist():
        read = content(document)
        verdict = accept(read, limits)
        if isinstance(verdict, Refused):
            refused[document] = verdict
        else:
            accepted[document] = read
    batch = batch._replace(status=np.where(unproven, np.uint8(Status.MALFORMED), batch.status))
    encoded = encoder.encode(list(accepted.values()), values=batch.with_values)
    order = np.arange(batch.documents)
    order[list(accepted)] = np.arange(batch.documents, batch.documents + len(accepted))
    return select_documents(concat([batch, encoded]), order), refused
