"""Matching some documents of a batch: the answer in terms of the whole."""

import numpy as np

from winnow.arrays.types import Longs
from winnow.encoding import EncodedBatch
from winnow.encoding.select import select_documents
from winnow.engines.base import Engine, Matches


def match_selected(engine: Engine, batch: EncodedBatch, chosen: Longs) -> Matches:
    """As `engine.match`, as if the batch had no other documents than these."""
    found = engine.match(select_documents(batch, chosen))
    first = np.cumsum(np.diff(batch.doc_offsets)[chosen]) - np.diff(batch.doc_offsets)[chosen]
    shift = batch.doc_offsets[chosen] - first
    witnesses = (found.witnesses + shift[found.documents]).astype(np.int32)
    return found._replace(documents=chosen[found.documents].astype(np.int32), witnesses=witnesses)
