"""What the engines share that read a document node by node: conditions in, conditions met out.

Such an engine takes up the conditions of new patterns (`_learn`) and reports which of them each document meets
(`_read`). It may be simple: what its paper cannot express is cut into lines, and the shared verification finishes.
"""

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from winnow.arrays.stamped import Stamped
from winnow.arrays.types import Floats, Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines.automata.conditions import Asked, Awaited, Conditions, asked_by, complete
from winnow.engines.automata.reading import Read
from winnow.engines.automata.strategies import STEP_BY_STEP, STRATEGIES, rewrite
from winnow.engines.base import Engine, Matches
from winnow.engines.predicates.access import meeting
from winnow.engines.verification.found import Found, merge
from winnow.engines.verification.verify import Verifier
from winnow.patterns.intern import select_runs
from winnow.patterns.lines import Lines, lines_of


class FilteringEngine(Engine):
    """`stats` says how large the index is and what the last `match` cost; in counts and bytes, never in seconds."""

    strategies: ClassVar[tuple[str, ...]] = STRATEGIES  # for values, that it takes

    def __init__(self, vocabulary: Vocabulary, paths: PathTable, strategy: str = STEP_BY_STEP) -> None:
        super().__init__(vocabulary, paths)
        self._strategy = strategy
        self.stats: dict[str, int] = {}
        self._conditions = Conditions()
        self._awaited: Awaited | None = None
        self._stamps = Stamped()
        self._symbols = PathSymbols(paths, vocabulary)
        self._has_text = False  # some line ends at text nodes

    def retire(self, ids: Ints) -> None:
        super().retire(ids)
        self._changed()

    def _changed(self) -> None:
        """Other patterns are live now, or there are more."""
        self._awaited = None

    def _index(self, new: range) -> None:
        lines = lines_of(self.store.twigs, new.start, new.stop, self.store.height)
        self.take_up(lines, new, np.ones(len(new), np.bool_))

    def take_up(self, lines: Lines, new: range, chosen: npt.NDArray[np.bool_]) -> None:
        """Of the new patterns, whose lines these are, learn the chosen ones; the others are never live here."""
        asked, is_decided = self._ask(new, lines)
        if not chosen.all():
            rows = np.flatnonzero(chosen[asked.owner - new.start])
            asked = Asked(*select_runs(asked.steps, asked.ends, rows), asked.test[rows], asked.owner[rows])
        self._conditions.add(asked, self._learn(asked), new, is_decided & chosen, self._often(asked))
        self._changed()

    def follow(self, live: npt.NDArray[np.bool_]) -> None:
        """These patterns of a store that is another engine's are wanted."""
        if not np.array_equal(live, self.live):
            self._live.resize(live.size, 0)
            self._live.view[:] = live
            self._changed()

    @cached_property
    def _verifier(self) -> Verifier:
        return Verifier(self.store, self.paths)

    def _ask(self, new: range, lines: Lines) -> tuple[Asked, npt.NDArray[np.bool_]]:
        """What new patterns ask for, and which of them their only condition decides."""
        asked, weakened = rewrite(asked_by(lines), self._strategy)
        is_decided = (lines.pure | lines.exact).astype(np.bool_)
        is_decided[weakened - new.start] = False
        self._has_text = self._has_text or bool((asked.steps >> 1 == 0).any())
        return asked, is_decided

    def _often(self, asked: Asked) -> Floats:
        """How often documents meet what is asked for."""
        return meeting(asked.steps[asked.ends[:-1]] >> 1, asked.test, self.store, self.selectivity)

    def find(self, batch: EncodedBatch) -> Found:
        """What the index alone says of a batch: pairs that it has decided, and pairs to verify."""
        if self._awaited is None:
            self._awaited = self._conditions.awaited(self.live)
        read = self._read(batch, self._symbols.signed())
        stamps = self._stamps.room(self._conditions.count, batch.documents)
        found = complete(read.met, batch.doc_offsets, self._awaited, stamps, self._stamps.last)
        self._stamps.last += batch.documents
        self.stats = self._size() | {
            "conditions": self._conditions.count,
            "comparisons": read.comparisons,
            "moves": read.moves,
            "met": len(read.met),
            "waited": int(np.diff(self._awaited.waiting.offsets)[read.met[:, 1]].sum()),
            "candidates": len(found.matches) + len(found.candidates),
        }
        self.stats["bytes"] += self._conditions.nbytes
        return found

    def _match(self, batch: EncodedBatch) -> Matches:
        found = self.find(batch)
        witnesses = self._verifier.verify(batch, found.candidates[:, 0], found.candidates[:, 1])
        matches = merge(found.matches, found.candidates, witnesses)
        funnel = self._funnel(
            batch,
            branches=self._conditions.count,
            candidates=self.stats["candidates"],
            verified=len(found.candidates),
            matches=matches.shape[1],
        )
        return Matches(matches[0], matches[1], matches[2], funnel)

    @abstractmethod
    def _learn(self, asked: Asked) -> Ints:
        """The condition of each row."""

    @abstractmethod
    def _read(self, batch: EncodedBatch, symbols: Ints) -> Read:
        """`symbols` are those of the paths, signed."""

    @abstractmethod
    def _size(self) -> dict[str, int]:
        """At least `bytes`."""
