"""Hybrid profiles: the index has said which documents could satisfy them; libxml2 says which do."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from winnow.arrays.types import Ints
from winnow.deciding.judge import Judge, rough_size
from winnow.deciding.limits import EvaluationLimits
from winnow.deciding.profile import HybridProfile, hybrid_of
from winnow.deciding.undecided import Undecided
from winnow.encoding import EncodedBatch

__all__ = ["Decided", "HybridProfile", "Pairs", "decide", "hybrid_of"]


class Decided(NamedTuple):
    """For each pair."""

    witnesses: Ints  # -1 where the profile does not hold, and where nobody knows
    undecided: dict[int, Undecided]  # by the number of the pair


class Pairs(NamedTuple):
    """Documents of a batch, ascending, and slots of hybrid profiles."""

    documents: Ints
    slots: Ints


def decide(
    batch: EncodedBatch,
    pairs: Pairs,
    profiles: Mapping[int, HybridProfile],
    *,
    content: Callable[[int], bytes],
    symbols: Ints,
    limits: EvaluationLimits,
) -> Decided:
    """Ask libxml2, which parses a document once. `symbols` are those of the paths, positive for elements."""
    witnesses = np.full(pairs.documents.size, -1, np.int32)
    undecided: dict[int, Undecided] = {}
    depths = _depths(batch)
    current = first = last = -1
    with Judge(limits) as judge:
        for k, (document, slot) in enumerate(zip(pairs.documents.tolist(), pairs.slots.tolist(), strict=True)):
            if document != current:
                current = document
                first, last = int(batch.doc_offsets[document]), int(batch.doc_offsets[document + 1])
                elements: Ints | None = None
                text = content(document)
                values = int(batch.value_offsets[document + 1] - batch.value_offsets[document])
                texts = int(batch.text_offsets[document + 1] - batch.text_offsets[document])
                nodes = last - first + (texts if batch.with_values else len(text) // 4)
                judge.open(text, rough_size(text, nodes=nodes, depth=int(depths[document]), text=values))
            answer = judge.ask(profiles[slot])
            if isinstance(answer, Undecided):
                undecided[k] = answer
            elif answer == 0:
                witnesses[k] = first
            elif answer > 0:
                if elements is None:
                    elements = np.flatnonzero(symbols[batch.path[first:last]] > 0).astype(np.int32)
                witnesses[k] = first + elements[answer]
    return Decided(witnesses, undecided)


def _depths(batch: EncodedBatch) -> Ints:
    """Of each document, in elements and attributes; text is one deeper."""
    starts = batch.doc_offsets[:-1]
    inside = int(np.searchsorted(starts, batch.nodes))  # behind them, documents without nodes
    depths = np.ones(starts.size, np.int32)
    if inside:
        depths[:inside] = np.maximum.reduceat(batch.level, starts[:inside]) + 1
    return depths
