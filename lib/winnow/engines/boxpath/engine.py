"""The default engine: distinct paths ⋈ distinct branches, remembered; per document a look-up for each node.

A bare line is decided by the paths alone; a line with one test at its end by the value families; everything else is a
candidate when its access branch turns up, and is then verified. That its other lines are there is not asked first: they
are more frequent than the access branch by choice, so the question would seldom help, and marking all lines costs.
"""

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.types import Floats, Ints
from winnow.encoding import EncodedBatch, PathTable, Vocabulary
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines.base import Engine, Funnel, Matches
from winnow.engines.boxpath.line_index import LineIndex
from winnow.engines.boxpath.walk import Plan, Stamps, walk_batch
from winnow.engines.predicates.access import Accesses, Branches, Rows, choose, passing
from winnow.engines.predicates.automaton import Automata, build_automata, new_scratch
from winnow.engines.predicates.lookup import Lookup, build_lookup
from winnow.engines.predicates.postings import HASHED, LOWER, TRIED, UPPER, Postings
from winnow.engines.verification.found import merge
from winnow.engines.verification.verify import Verifier
from winnow.patterns.intern import select_runs
from winnow.patterns.lines import lines_of

_LAST_STAMP = 2**31 - 2**24  # more documents than a batch has
_SETTLED = 1 << 14  # documents after which the choice of access branches is not revised any more


class BoxPath(Engine):
    def __init__(self, vocabulary: Vocabulary, paths: PathTable) -> None:
        super().__init__(vocabulary, paths)
        self._symbols = PathSymbols(paths, vocabulary)
        self._verifier = Verifier(self.store, paths)
        self._pure, self._branches = LineIndex(), LineIndex()
        self._pure_pattern = Column(np.int32)
        self._owner, self._line, self._test = (Column(np.int32) for _ in range(3))  # see `Branches`
        self._passing = Column(np.float64)
        self._exact = Column(np.int32)
        self._always = Column(np.int32)  # patterns without any line
        self._accesses: Accesses | None = None
        self._lookup: Lookup | None = None
        self._automata: Automata | None = None
        self._postings = Postings()
        self._documents = self._planned = 0
        self._stamps = [Column(np.int32) for _ in Stamps._fields]
        self._stamp = 0

    @property
    def line_indexes(self) -> tuple[LineIndex, LineIndex]:
        """Of bare lines and of the branches of all other patterns: whoever has joined them before may say so."""
        return self._pure, self._branches

    def _index(self, new: range) -> None:
        lines = lines_of(self.store.twigs, new.start, new.stop, self.store.height)
        is_pure = lines.pure[lines.owner - new.start] == 1
        pure, others = np.flatnonzero(is_pure), np.flatnonzero(~is_pure)
        self._pure.add(*select_runs(lines.steps, lines.ends, pure))
        self._pure_pattern.extend(lines.owner[pure])  # each is a line of its own, because patterns are distinct
        self._owner.extend(lines.owner[others])
        self._line.extend(self._branches.add(*select_runs(lines.steps, lines.ends, others)))
        self._test.extend(lines.test[others])
        symbol = lines.steps[lines.ends[:-1]][others] >> 1
        self._passing.extend(passing(symbol, lines.test[others], self.store, self.selectivity))
        self._exact.extend(lines.exact)
        self._always.extend(np.setdiff1d(np.arange(new.start, new.stop), lines.owner))
        self._accesses = None

    @property
    def holds_everywhere(self) -> bool:
        """Some pattern has no branch, so every document satisfies it."""
        return bool(len(self._always))

    def _match(self, batch: EncodedBatch) -> Matches:
        known = self._pure.places // 2
        symbols = self._symbols.signed()
        joined = self._pure.update(self.paths, symbols) + self._branches.update(self.paths, symbols)
        self._documents += batch.documents
        if self._accesses is None or (self._documents > 2 * self._planned and self._planned < _SETTLED):
            self._plan(batch)
        plan = self._current_plan()
        found = walk_batch(batch, plan, self._stamps_for(batch), self._stamp)
        self._stamp += batch.documents
        candidates = found.candidates[self.live[found.candidates[:, 1]]]
        witnesses = self._verifier.verify(batch, candidates[:, 0], candidates[:, 1])
        matches = self._collect(batch, found.matches, candidates, witnesses)
        funnel = Funnel(
            documents=batch.documents,
            nodes=batch.nodes,
            paths=symbols.size - 1,
            new_paths=symbols.size - max(known, 1),
            branches=len(self._pure.lines) + len(self._branches.lines),
            path_branches=joined,
            candidates=matches.shape[1] + int((witnesses < 0).sum()),
            verified=len(candidates),
            matches=matches.shape[1],
        )
        return Matches(matches[0], matches[1], matches[2], funnel)

    def _collect(self, batch: EncodedBatch, held: Ints, candidates: Ints, witnesses: Ints) -> Ints:
        """Columns of all matches, ascending by document. Parts cannot overlap: a pattern has one way to be decided."""
        held = held[self.live[held[:, 1]]] if not self.live.all() else held
        found = merge(held, candidates, witnesses)
        always = self._always.view[self.live[self._always.view]]
        if always.size:
            whole = np.flatnonzero(np.diff(batch.doc_offsets)).astype(np.int32)
            rows = np.column_stack([np.repeat(whole, always.size), np.tile(always, whole.size)])
            found = merge(np.ascontiguousarray(found.T), rows, batch.doc_offsets[rows[:, 0]].astype(np.int32))
        return found

    def _plan(self, batch: EncodedBatch) -> None:
        """Choose access branches by how often the lines occur in this batch, and write the postings anew."""
        branches = Branches(self._owner.view, self._line.view, self._test.view, self._passing.view)
        tests = self.store.twigs.tests
        self._accesses = choose(branches, self._exact.view, self._weights(batch))
        waited = np.unique(self._accesses.test)
        self._lookup, self._automata = build_lookup(tests, waited), build_automata(tests, waited)
        self._postings = Postings()
        self._planned = self._documents

    def _weights(self, batch: EncodedBatch) -> Floats:
        offsets = self._branches.offsets
        met = np.zeros(offsets.size - 1)
        met[0::2] = np.bincount(batch.path, minlength=met.size // 2)
        met[1::2] = met[0::2]  # nearly every element has text
        weight = np.repeat(met, np.diff(offsets))
        lines = np.bincount(self._branches.pairs, weights=weight, minlength=len(self._branches.lines))
        return lines.astype(np.float64)

    def _current_plan(self) -> Plan:
        assert self._accesses is not None
        assert self._lookup is not None
        assert self._automata is not None
        tests = self.store.twigs.tests
        if self._postings.places < self._branches.places:
            self._postings.extend(self._branches.offsets, self._branches.pairs, self._accesses, tests)
        return Plan(
            pure=Rows(self._pure.offsets, self._pure.pairs),
            pure_pattern=self._pure_pattern.view,
            lines=self._postings.lines,
            waiting=self._accesses.waiting,
            needs=self._postings.needs,
            hashed=self._postings.family(HASHED),
            tried=self._postings.family(TRIED),
            lower=self._postings.family(LOWER),
            upper=self._postings.family(UPPER),
            lookup=self._lookup,
            automata=self._automata,
            scratch=new_scratch(self._automata),
            tests=tests,
            has_text=self._pure.has_text or self._branches.has_text,
        )

    def _stamps_for(self, batch: EncodedBatch) -> Stamps:
        if self._stamp + batch.documents > _LAST_STAMP:
            self._stamp = 0
            for column in self._stamps:
                column.view[:] = 0
        sizes = self._branches.places, len(self._pure.lines), len(self._branches.lines), len(self.store)
        for column, size in zip(self._stamps, sizes, strict=True):
            column.resize(size, 0)
        place, pure, line, pattern = (column.view for column in self._stamps)
        return Stamps(place, pure, line, pattern)
