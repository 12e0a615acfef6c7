"""Walk an index partition: are its envelopes sound, and was everything joined that its branches fit?"""

import random
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.arrays.types import Ints, Longs
from winnow.engines.structure import place_sequences, places_of
from winnow.engines.symbols import PathSymbols
from winnow.envelope import check_invariants, join
from winnow.errors import WinnowError
from winnow.index.lines import find
from winnow.index.trees import load_tree
from winnow.pipeline.build_index import Index
from winnow.pipeline.words import load_paths, load_vocabulary
from winnow.quality.outcome import Outcome

PATHS = 2000  # are joined anew at most


class Walked(NamedTuple):
    problems: list[str]
    entries: Longs  # branches of the partition
    pairs: Longs  # of a place and a branch, see _pair


class Places(NamedTuple):
    """Some paths with all that is above them."""

    parents: Ints
    symbols: Ints
    chosen: Longs
    codes: Longs  # of the chosen ones

    @classmethod
    def sample(cls, outcome: Outcome, rng: random.Random) -> "Places":
        vocabulary = load_vocabulary(outcome.lake, outcome.inputs["vocabulary"])
        known = load_paths(outcome.lake, vocabulary, outcome.inputs["paths"])
        symbols = PathSymbols(known.table, vocabulary).signed().copy()
        every = range(1, len(known.table))
        chosen = np.array(sorted(rng.sample(every, min(PATHS, len(every)))), np.int64)
        return cls(known.table.parents.copy(), symbols, chosen, known.codes[chosen])


@dataclass(frozen=True)
class Walk:
    lake: str
    index: Index
    places: Places

    def __call__(self, partition: int) -> Walked:
        at = self.index.roots.column("partition").to_pylist().index(partition)
        rows = self.index.rows(self.lake, partition)
        entry = rows.column("entry").to_numpy().astype(np.int64)
        try:
            tree = load_tree(rows, self.index.roots.column("parameters")[at].as_py())
        except WinnowError as error:
            return Walked([f"partition {partition}: {error.message}"], entry[:0], entry[:0])
        problems = [f"partition {partition}: {problem}" for problem in check_invariants(tree)]
        if problems or not self.places.chosen.size:
            return Walked(problems, entry[:0], entry[:0])
        places = places_of(self.places.chosen)
        found = join(tree, place_sequences(self.places.parents, self.places.symbols, places))
        return Walked([], entry[entry >= 0], _pair(found.data.astype(np.int64), found.queries.astype(np.int64)))


def _pair(place: Longs, branch: Longs) -> Longs:
    """A path's own place and that of text in it are 2 * k and 2 * k + 1."""
    return (place << 32) | branch


def wrong_joins(outcome: Outcome, places: Places, walked: list[Walked]) -> list[str]:
    """Pairs that the trees find and the table does not have, or the other way round."""
    rows = outcome.rows("path_branches")
    rows = rows.filter(pc.is_in(rows.column("path_id"), value_set=pa.array(places.codes)))
    path = find(places.codes, rows.column("path_id").to_numpy().astype(np.int64))
    branch = rows.column("branch").to_numpy().astype(np.int64)
    stored = _pair(2 * path + rows.column("text").to_numpy(zero_copy_only=False), branch)
    entries = np.concatenate([found.entries for found in walked] or [path[:0]])
    trees = np.concatenate([found.pairs for found in walked] or [path[:0]])
    wrong = np.setxor1d(trees, stored[np.isin(branch, entries)])
    lost = np.isin(wrong, trees)
    return [
        f"branch {pair & 0xFFFFFFFF} and path {places.codes[pair >> 33]}: {'lost' if is_lost else 'made up'}"
        for pair, is_lost in zip(wrong.tolist(), lost.tolist(), strict=True)
    ]
