"""How rare labels and values are, from the documents of a sample (Miliaraki and Koubarakis, DEBS 2010, §5).

Only cost depends on it, never an answer: of several things that a document must have, engines wait for the rarest.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

UNKNOWN = 0.02  # of the values of a label that the sample does not have
_HALF = 0.5  # an occurrence: what was not seen is rarer than what was seen once, and not impossible


class Selectivity(NamedTuple):
    """Counts of labels and of equality predicates, by their codes (see `predicates`), ascending.

    >>> colour = np.array([7])
    >>> known = Selectivity.of(10, colour, np.array([40]), np.array([71, 72]), np.array([30, 10]))
    >>> known.share(np.array([71, 72, 73]), np.repeat(colour, 3)).round(3).tolist()
    [0.75, 0.25, 0.012]
    """

    documents: int
    labels: Longs
    totals: Longs  # nodes of each label
    codes: Longs
    counts: Longs  # nodes with each value

    @classmethod
    def of(cls, documents: int, labels: Longs, totals: Longs, codes: Longs, counts: Longs) -> "Selectivity":
        """Codes in any order; what comes twice is added up."""
        return cls(documents, *_summed(labels, totals), *_summed(codes, counts))

    def share(self, codes: Longs, labels: Longs) -> Floats:
        """Of the nodes with the label, those that have the value (§5.1); `labels` are the labels of the codes."""
        total, count = _find(self.labels, self.totals, labels), _find(self.codes, self.counts, codes)
        seen = np.where(count > 0, count / np.maximum(total, 1), _HALF / (total + 1))
        return np.where(total > 0, np.minimum(seen, 1.0), UNKNOWN)

    def per_document(self, labels: Longs) -> Floats:
        """How many nodes with each label a document has."""
        return np.maximum(_find(self.labels, self.totals, labels), _HALF) / max(self.documents, 1)

    @property
    def nodes_per_document(self) -> float:
        return float(max(self.totals.sum(), _HALF)) / max(self.documents, 1)


def _summed(codes: Longs, counts: Longs) -> tuple[Longs, Longs]:
    order = np.argsort(codes, kind="stable")
    codes, counts = codes[order], counts[order]
    starts = np.flatnonzero(np.concatenate([[codes.size > 0], codes[1:] != codes[:-1]]))
    return codes[starts], np.add.reduceat(counts, starts) if starts.size else counts[:0]


def _find(known: Longs, counts: Longs, wanted: Longs) -> Longs:
    """The count of each wanted code, 0 where it is not known."""
    if not known.size:
        return np.zeros(wanted.size, np.int64)
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[at] == wanted, counts[at], 0)
