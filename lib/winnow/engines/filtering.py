"""What the engines share that read a document node by node: conditions in, conditions met out.

Such an engine takes up the conditions of new patterns (`_learn`) and reports which of them each document meets
(`_read`). It may be simple: what its paper cannot express is cut into lines, and the shared verification finishes.
"""

from abc import abstractmethod

from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.engines.base import Engine, Funnel, Matches
from winnow.engines.conditions import Asked, Awaited, Conditions, asked_by, complete
from winnow.engines.lines import Lines, lines_of
from winnow.engines.reading import Read
from winnow.engines.stamped import Stamped
from winnow.engines.symbols import PathSymbols
from winnow.engines.twigs import Ints
from winnow.engines.verify import Verifier
from winnow.engines.walk import Found, merge


class FilteringEngine(Engine):
    """`stats` says how large the index is and what the last `match` cost; in counts and bytes, never in seconds."""

    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        super().__init__(vocabulary, paths)
        self.stats: dict[str, int] = {}
        self._conditions = Conditions()
        self._awaited: Awaited | None = None
        self._stamps = Stamped()
        self._symbols = PathSymbols(paths, vocabulary)
        self._verifier = Verifier(self.store, paths)
        self._has_text = False  # some line ends at text nodes
        self._known_paths = 0

    def retire(self, ids: Ints) -> None:
        super().retire(ids)
        self._awaited = None

    def _index(self, new: range) -> None:
        lines = lines_of(self.store.twigs, new.start, new.stop, self.store.height)
        asked = self._asked(new, lines)
        self._has_text = self._has_text or bool((lines.steps >> 1 == 0).any())
        self._conditions.add(asked, self._learn(asked), new, lines.pure | lines.exact)
        self._awaited = None

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
            "candidates": len(found.matches) + len(found.candidates),
        }
        self.stats["bytes"] += self._conditions.nbytes
        return found

    def _match(self, batch: EncodedBatch) -> Matches:
        found = self.find(batch)
        witnesses = self._verifier.verify(batch, found.candidates[:, 0], found.candidates[:, 1])
        matches = merge(found.matches, found.candidates, witnesses)
        known, self._known_paths = self._known_paths, len(self.paths) - 1
        funnel = Funnel(
            documents=batch.documents,
            nodes=batch.nodes,
            paths=self._known_paths,
            new_paths=self._known_paths - known,
            branches=self._conditions.count,
            candidates=self.stats["candidates"],
            verified=len(found.candidates),
            matches=matches.shape[1],
        )
        return Matches(matches[0], matches[1], matches[2], funnel)

    def _asked(self, new: range, lines: Lines) -> Asked:
        """What the document is asked for on behalf of new patterns."""
        return asked_by(lines)

    @abstractmethod
    def _learn(self, asked: Asked) -> Ints:
        """The condition of each row."""

    @abstractmethod
    def _read(self, batch: EncodedBatch, symbols: Ints) -> Read:
        """`symbols` are those of the paths, signed."""

    @abstractmethod
    def _size(self) -> dict[str, int]:
        """At least `bytes`."""
