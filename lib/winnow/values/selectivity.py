"""How rare labels and values are, from the documents of a sample (Miliaraki and Koubarakis, DEBS 2010, §5).

Only cost depends on it, never an answer: of several things that a document must have, engines wait for the rarest.
"""

from typing import NamedTuple

import numpy as np

from winnow.arrays.types import Floats, Longs

UNKNOWN = 0.02  # of the values of a label that the sample does not have
_HALF = 0.5  # an occurrence: what was not seen is rarer than what was seen once, and not impossible


class Counts(NamedTuple):
    """Per code, ascending: how many nodes have it, and how many documents."""

    codes: Longs
    nodes: Longs
    documents: Longs

    @classmethod
    def of(cls, codes: Longs, nodes: Longs, documents: Longs) -> "Counts":
        """Codes in any order; what comes twice is added up."""
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: codes.size])
        if not starts.size:
            return cls(codes, nodes, documents)
        return cls(codes[starts], *(np.add.reduceat(column[order], starts) for column in (nodes, documents)))

    def find(self, wanted: Longs) -> tuple[Longs, Longs]:
        """Nodes and documents of each code, 0 where it is not known."""
        if not self.codes.size:
            return np.zeros(wanted.size, np.int64), np.zeros(wanted.size, np.int64)
        at = np.minimum(np.searchsorted(self.codes, wanted), self.codes.size - 1)
        is_known = self.codes[at] == wanted
        return np.where(is_known, self.nodes[at], 0), np.where(is_known, self.documents[at], 0)


class Selectivity(NamedTuple):
    """What so many documents have: labels, and values by the codes of equality predicates (see `predicates`).

    >>> known = Selectivity(10, Counts.of(*np.array([[7], [40], [8]])), Counts.of(*np.array([[71], [30], [5]])))
    >>> known.share(np.array([71, 72]), np.array([7, 7])).round(3).tolist()
    [0.75, 0.012]
    >>> known.documents_with(np.array([71, 72])).round(3).tolist()
    [0.5, 0.045]
    """

    documents: int
    labels: Counts
    values: Counts

    def share(self, codes: Longs, labels: Longs) -> Floats:
        """Of the nodes with the label, those that have the value (§5.1); `labels` are the labels of the codes.

        The paper divides the attributes with a value by elements, here by attributes: a label stands for itself.
        """
        total, count = self.labels.find(labels)[0], self.values.find(codes)[0]
        seen = np.where(count > 0, count / np.maximum(total, 1), _HALF / (total + 1))
        return np.where(total > 0, np.minimum(seen, 1.0), UNKNOWN)

    def documents_with(self, codes: Longs) -> Floats:
        """The share of documents that have each value."""
        return self._of_all(self.values.find(codes)[1])

    def documents_labelled(self, labels: Longs) -> Floats:
        """The share of documents that have each label."""
        return self._of_all(self.labels.find(labels)[1])

    def _of_all(self, documents: Longs) -> Floats:
        return np.where(documents > 0, documents / max(self.documents, 1), _HALF / (self.documents + 1))
