"""Top-down evaluation with pruning (Miliaraki and Koubarakis, DEBS 2010, §4.4): value filters before fragments.

The patterns are shared out to fragments, which take the place of the paper's peers, by how they begin. Each fragment
is a structural engine of its own, and keeps one predicate of each of its patterns in a counting Bloom filter. Only
documents that have one of these values are read by it. Patterns that no value can rule out have a fragment to
themselves, which reads everything.
"""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Floats, Longs
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines.automata.filtering import FilteringEngine
from winnow.engines.automata.strategies import TOP_DOWN
from winnow.engines.base import Engine, Matches
from winnow.engines.selected import match_selected
from winnow.index.codes import LabelCodes
from winnow.patterns.lines import Lines, lines_of
from winnow.values.bloom import CountingBloom
from winnow.values.guard import FALSE_POSITIVES, one_each, rareness
from winnow.values.predicates import Predicates, asked_kinds, predicates_of, values_of

FRAGMENTS = 16
_OPEN = 0  # the fragment of patterns without a predicate
_ADDITIVE = ("branches", "candidates", "verified", "matches")


class PrunedEngine(Engine):
    def __init__(self, kind: type[FilteringEngine], vocabulary: Vocabulary, paths: PathTable, *, random: bool) -> None:
        super().__init__(vocabulary, paths)
        self.stats: dict[str, int] = {}
        self._fragments = [kind(vocabulary, paths, TOP_DOWN) for _ in range(FRAGMENTS)]
        for fragment in self._fragments:
            fragment.store = self.store
        self._filters = [CountingBloom(1024, FALSE_POSITIVES) for _ in range(FRAGMENTS)]
        self._chooser = np.random.default_rng(2010) if random else None
        self._home, self._code, self._is_counted = Column(np.int32), Column(np.int64), Column(np.bool_)
        self._kinds = Column(np.uint8)
        self._labels = LabelCodes(vocabulary)
        self._symbols = PathSymbols(paths, vocabulary)

    def _index(self, new: range) -> None:
        lines = lines_of(self.store.twigs, new.start, new.stop, self.store.height)
        predicates = predicates_of(lines, self.store.twigs.tests, self._labels.all())
        self._kinds.resize(len(self.store.vocabulary), 0)
        self._kinds.view[:] |= asked_kinds(predicates, len(self.store.vocabulary))
        home, code = np.full(len(new), _OPEN, np.int32), np.zeros(len(new), np.int64)
        chosen = one_each(predicates, self._weights(predicates))
        owner = predicates.owner[chosen] - new.start
        home[owner] = 1 + beginnings(lines, new)[owner] % (FRAGMENTS - 1)
        code[owner] = predicates.codes[chosen]
        self._home.extend(home)
        self._code.extend(code)
        self._is_counted.resize(len(self.store), 0)
        for number, fragment in enumerate(self._fragments):
            fragment.selectivity = self.selectivity
            fragment.take_up(lines, new, home == number)

    def _match(self, batch: EncodedBatch) -> Matches:
        self._count()
        values = values_of(batch, self._symbols.signed(), self._labels.all(), self._kinds.view)
        has_nodes = np.diff(batch.doc_offsets) > 0
        parts, funnel, stats = [], self._funnel(batch), {"messages": 0, "pruned": 0}
        for number, fragment in enumerate(self._fragments):
            own = self.live & (self._home.view == number)
            if not own.any():
                continue
            passes = has_nodes if number == _OPEN else self._filters[number].has_any(values.codes, values.ends)
            chosen = np.flatnonzero(passes)
            stats["messages"] += chosen.size
            stats["pruned"] += int(has_nodes.sum()) - chosen.size
            if not chosen.size:
                continue
            fragment.follow(own)
            found = match_selected(fragment, batch, chosen)
            parts.append(found[:3])
            funnel = funnel._replace(
                **{name: getattr(funnel, name) + getattr(found.funnel, name) for name in _ADDITIVE}
            )
            for name, value in fragment.stats.items():
                stats[name] = stats.get(name, 0) + value
        self.stats = stats
        columns = [
            np.concatenate([np.zeros(0, np.int32), *(part[k] for part in parts)]).astype(np.int32) for k in range(3)
        ]
        order = np.argsort(columns[0], kind="stable")
        documents, patterns, witnesses = (column[order] for column in columns)
        return Matches(documents, patterns, witnesses, funnel)

    def _count(self) -> None:
        """Bring the filters up to date with the patterns that are live."""
        changed = np.flatnonzero(self.live != self._is_counted.view)
        for number in np.unique(self._home.view[changed]).tolist():
            own = changed[self._home.view[changed] == number]
            came, went = own[self.live[own]], own[~self.live[own]]
            held = self.live & (self._home.view == number)
            if held.sum() > self._filters[number].capacity:
                self._filters[number] = CountingBloom(2 * int(held.sum()), FALSE_POSITIVES)
                came, went = np.flatnonzero(held), np.zeros(0, np.int64)
            self._filters[number].add(self._code.view[came])
            self._filters[number].remove(self._code.view[went])
        self._is_counted.view[changed] = self.live[changed]

    def _weights(self, predicates: Predicates) -> Floats:
        """Of each pattern the lightest predicate is taken (§5.3)."""
        if self._chooser:
            return self._chooser.random(predicates.owner.size)
        return rareness(predicates, self.selectivity)


def beginnings(lines: Lines, new: range) -> Longs:
    """Per pattern a number for the two topmost steps of its first line."""
    owner, row = np.unique(lines.owner, return_index=True)
    top = lines.ends[row + 1] - 1
    second = np.maximum(top - 1, lines.ends[row])
    found = np.zeros(len(new), np.int64)
    found[owner - new.start] = 31 * lines.steps[top].astype(np.int64) + lines.steps[second]
    return found
