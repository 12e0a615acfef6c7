"""Places in short: their outlines are those of their sequences."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from envelope.strategies import outlines
from winnow.engines.boxpath.line_index import place_outlines, place_sequences


@settings(deadline=None)  # the first call may compile
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(-100, 100)), max_size=50))
def test_outlines_of_places(drawn: list[tuple[int, int]]) -> None:
    parents = np.array([-1, *(above % (path + 1) for path, (above, _) in enumerate(drawn))], np.int32)
    symbols = np.array([0, *(symbol for _, symbol in drawn)], np.int32)
    places = np.arange(2, 2 * symbols.size)
    expected = outlines(place_sequences(parents, symbols, places))
    for found, wanted in zip(place_outlines(parents, symbols), expected, strict=True):
        assert found[2:].tolist() == wanted.tolist()
