"""The signed symbol (see `twigs`) of every path's last step."""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Ints
from winnow.encoding import PathTable, Vocabulary


class PathSymbols:
    def __init__(self, paths: PathTable, vocabulary: Vocabulary) -> None:
        self._paths = paths
        self._vocabulary = vocabulary
        self._signed = Column(np.int32)

    def signed(self) -> Ints:
        """For all paths known by now; 0 for the document."""
        known = len(self._signed)
        if known < len(self._paths):
            symbols = self._paths.symbols[known:]
            labels = {symbol: self._vocabulary.label(symbol) for symbol in np.unique(symbols).tolist() if symbol > 0}
            attributes = np.array([symbol for symbol, label in labels.items() if label.startswith("@")], np.int32)
            signed = np.where(np.isin(symbols, attributes), -symbols, symbols)
            self._signed.extend(signed)
            self._signed.view[0] = 0
        return self._signed.view
