"""The front door of the library: build from profiles, match documents, add and retire profiles.

>>> matcher = Matcher([("p1", "//item[@price > 10]"), ("p2", "/order/note"), ("p3", "//item[")])
>>> [match[1:] for match in matcher.match([("a.xml", b"<order><item price='12'/></order>"), ("b.xml", b"<order>")])]
[('p1', '/order/item[1]/@price')]
>>> [(r.profile_id, r.code) for r in matcher.rejected], [(r.document, r.reason) for r in matcher.refused]
([('p3', 'syntax_error')], [('b.xml', 'malformed')])
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from winnow import engines
from winnow.arrays.types import Bytes, Ints, Longs
from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.deciding.undecided import Undecided
from winnow.documents.acceptance import encode_accepted, encode_accepted_buffer
from winnow.encoding import EncodedBatch, Encoder, PathTable, Status, Vocabulary, locate
from winnow.encoding.path_symbols import PathSymbols
from winnow.encoding.select import select_documents
from winnow.engines.base import Funnel
from winnow.engines.profiles import ProfileTable
from winnow.engines.selected import match_selected
from winnow.engines.verification.hybrid import HybridProfile, Pairs, decide, hybrid_of
from winnow.errors import UsageError
from winnow.ingest.accept import DEFAULT_LIMITS, Limits, Refused
from winnow.values.guard import ValueGuard
from winnow.xpath import Pattern, Rejected, compile_profile

Profile: TypeAlias = tuple[Any, ...] | Mapping[str, Any]
Document: TypeAlias = bytes | tuple[str, bytes]

_BATCH_DOCUMENTS, _BATCH_BYTES = 1024, 8 << 20
_CHUNK = 1 << 15


class Match(NamedTuple):
    document: str | int  # its name, or its number when it came without one
    profile_id: str
    witness: str


class RejectedProfile(NamedTuple):
    profile_id: str
    code: str
    message: str
    column: int = 0


class RefusedDocument(NamedTuple):
    document: str | int
    reason: str
    message: str
    line: int = 0
    column: int = 0


class UndecidedPair(NamedTuple):
    """Neither a match nor a miss: libxml2 was stopped, or could not say."""

    document: str | int
    profile_id: str
    reason: str
    message: str


class BatchMatches(NamedTuple):
    """Flat arrays, ascending by document. `profiles` are positions in `Matcher.profile_ids`, `witnesses` nodes."""

    documents: Ints
    profiles: Ints
    witnesses: Ints
    batch: EncodedBatch
    malformed: Longs  # documents without nodes, because they are not XML
    funnel: Funnel
    undecided_documents: Ints  # pairs that are neither matches nor misses
    undecided_profiles: Ints
    undecided_reasons: tuple[Undecided, ...]


class Matcher:
    """Which of these XPath profiles does each of these XML documents satisfy?

    A profile is `(profile_id, xpath[, namespaces[, ordered]])` or a mapping with these names. What cannot be taken is
    reported, not raised: profiles in `rejected`, documents in `refused`, pairs that took too long in `undecided`.
    """

    def __init__(
        self,
        profiles: Iterable[Profile] = (),
        *,
        engine: str = engines.DEFAULT_ENGINE,
        limits: Limits = DEFAULT_LIMITS,
        evaluation: EvaluationLimits = DEFAULT_EVALUATION,
        vocabulary: Vocabulary | None = None,
        paths: PathTable | None = None,
    ) -> None:
        self.vocabulary = Vocabulary() if vocabulary is None else vocabulary
        self.paths = PathTable() if paths is None else paths
        self.engine = engines.create(engine, self.vocabulary, self.paths)
        self.rejected: list[RejectedProfile] = []
        self.refused: list[RefusedDocument] = []
        self.undecided: list[UndecidedPair] = []
        self.funnel = Funnel()
        self._limits, self.evaluation = limits, evaluation
        self._encoder = Encoder(self.vocabulary, self.paths)
        self.symbols = PathSymbols(self.paths, self.vocabulary)
        self._profiles = ProfileTable()
        self._guard: ValueGuard | None = None
        self._hybrid: dict[int, HybridProfile] = {}
        self._is_hybrid: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.add(profiles)

    def __len__(self) -> int:
        """Live profiles."""
        return len(self._profiles)

    @property
    def profile_ids(self) -> list[str]:
        """By slot; retired profiles keep theirs."""
        return self._profiles.ids

    def add(self, profiles: Iterable[Profile]) -> list[RejectedProfile]:
        """Take further profiles; those that were rejected, which `rejected` lists, too."""
        self._guard = None
        before = len(self.rejected)
        rest = iter(profiles)
        while chunk := list(islice(rest, _CHUNK)):
            self._add(chunk)
        self._mark_hybrid()
        return self.rejected[before:]

    def adopt(
        self, profile_ids: list[str], alternatives: Ints, patterns: Ints, hybrid: Mapping[str, HybridProfile]
    ) -> None:
        """Take profiles whose patterns the engine has: `alternatives[k]` of them for profile k, one after the other."""
        first = len(self.profile_ids)
        self._profiles.add(profile_ids, alternatives, patterns)
        for slot, profile_id in enumerate(profile_ids, first):
            if profile_id in hybrid:
                self._hybrid[slot] = hybrid[profile_id]
        self._mark_hybrid()

    def adopt_unnamed(self, alternatives: Ints, patterns: Ints, hybrid: Mapping[int, HybridProfile]) -> None:
        """As `adopt`, of profiles that are known by their slots alone; `hybrid` is by slot."""
        self._profiles.add_unnamed(alternatives, patterns)
        self._hybrid.update(hybrid)
        self._mark_hybrid()

    def freeze(self) -> None:
        """Let go of what only adding profiles needs: from now on none can come."""
        self.engine.store.freeze()
        self._profiles.subscribed(len(self.engine.store))

    def retire(self, profile_ids: Iterable[str]) -> None:
        """Forget profiles; their ids may be used again."""
        wanted = list(dict.fromkeys(profile_ids))
        unknown = [profile_id for profile_id in wanted if profile_id not in self._profiles]
        if unknown:
            raise UsageError("unknown_profile", f"no profile {unknown[0]!r} to retire", hint="nothing was retired")
        self.engine.retire(self._profiles.retire(wanted))

    def match(self, documents: Iterable[Document], *, trusted: bool = False) -> Iterator[Match]:
        """Matches in the order of the documents. `trusted`: they were accepted before, so nobody need judge them."""
        for names, found in self.match_batches(documents, trusted=trusted):
            places = locate(found.batch, found.witnesses, paths=self.paths, vocabulary=self.vocabulary)
            rows = zip(found.documents.tolist(), found.profiles.tolist(), places, strict=True)
            yield from (Match(names[document], self.profile_ids[slot], place) for document, slot, place in rows)

    def match_batches(
        self, documents: Iterable[Document], *, trusted: bool = False
    ) -> Iterator[tuple[list[str | int], BatchMatches]]:
        """As `match`: batch by batch the names of the documents and the matches as flat arrays."""
        for given_names, given in _batches(documents):
            names, contents, batch = self._encode(given_names, given, trusted=trusted)
            if not names:
                continue
            found = self._match(batch, contents.__getitem__)
            self.refused += [RefusedDocument(names[d], "malformed", "not well-formed") for d in found.malformed]
            given_up = zip(*found[-3:], strict=True)
            self.undecided += [UndecidedPair(names[d], self.profile_ids[slot], *why) for d, slot, why in given_up]
            yield names, found

    def match_contents(self, contents: list[bytes]) -> BatchMatches:
        """One batch of accepted documents."""
        batch = self._encoder.encode(contents, values=self.engine.needs_values)
        return self._match(batch, contents.__getitem__)

    def match_batch(self, data: Bytes, offsets: Longs | Ints) -> BatchMatches:
        """One batch of accepted documents `data[offsets[d]:offsets[d + 1]]`, the layout of an Arrow binary column."""
        batch = self._encoder.encode_buffer(data, offsets, values=self.engine.needs_values)
        return self._match(batch, lambda d: data[offsets[d] : offsets[d + 1]].tobytes())

    def match_encoded(self, batch: EncodedBatch, content: Callable[[int], bytes] | None = None) -> BatchMatches:
        """One batch that was encoded with this matcher's tables, with values where profiles ask for them.

        `content` gives the bytes of a document: libxml2 decides some profiles.
        """
        if self._hybrid and content is None:
            raise UsageError("content_needed", "libxml2 decides some profiles", hint="match the contents")
        return self._match(batch, content)

    @property
    def has_hybrid(self) -> bool:
        """libxml2 decides some of the profiles, so the bytes of documents are needed."""
        return bool(self._hybrid)

    def _encode(
        self, names: list[str | int], contents: list[bytes], *, trusted: bool
    ) -> tuple[list[str | int], list[bytes], EncodedBatch]:
        """Encode a batch; refused documents leave it and go to `refused`."""
        values = self.engine.needs_values
        if trusted:
            return names, contents, self._encoder.encode(contents, values=values)
        batch, refused = encode_accepted(self._encoder, contents, self._limits, values=values)
        if not refused:
            return names, contents, batch
        for document, (reason, message, line, column) in refused.items():
            self.refused.append(RefusedDocument(names[document], reason.value, message, line, column))
        kept = [document for document in range(len(names)) if document not in refused]
        batch = select_documents(batch, np.array(kept, np.int64))
        return [names[document] for document in kept], [contents[document] for document in kept], batch

    def _mark_hybrid(self) -> None:
        self._is_hybrid = np.zeros(self._profiles.slots, np.bool_)
        self._is_hybrid[list(self._hybrid)] = True

    def _add(self, profiles: list[Profile]) -> None:
        ids: list[str] = []
        counts: list[int] = []
        patterns: list[Pattern] = []
        first = len(self.profile_ids)
        taken: set[str] = set()
        for profile in profiles:
            profile_id, xpath, namespaces, ordered = _fields(profile)
            if profile_id in self._profiles or profile_id in taken:
                self.rejected.append(RejectedProfile(profile_id, "duplicate_id", "a profile with this id is live"))
                continue
            try:
                compiled = compile_profile(xpath, namespaces, ordered=ordered)
            except Rejected as rejected:
                self.rejected.append(RejectedProfile(profile_id, rejected.code, rejected.message, rejected.column))
                continue
            hybrid = hybrid_of(compiled)
            if hybrid:
                self._hybrid[first + len(ids)] = hybrid
            taken.add(profile_id)
            ids.append(profile_id)
            counts.append(len(compiled.alternatives))
            patterns += compiled.alternatives
        self._profiles.add(ids, np.array(counts, np.int32), self.engine.add(patterns))

    def guard_values(self) -> None:
        """Put a value filter of the present profiles before them: for many profiles whose values are rare."""
        self._guard = ValueGuard(self.engine.store, self.engine.selectivity)

    def match_unjudged(self, data: Bytes, offsets: Longs | Ints) -> tuple[BatchMatches, dict[int, Refused]]:
        """As `match_batch`, of documents that nobody has accepted yet; and why some of them are refused."""
        values = self.engine.needs_values
        batch, refused = encode_accepted_buffer(self._encoder, data, offsets, self._limits, values=values)
        return self._match(batch, lambda d: data[offsets[d] : offsets[d + 1]].tobytes()), refused

    def _match(self, batch: EncodedBatch, content: Any) -> BatchMatches:
        if self._guard and not self._guard.open and batch.with_values:
            chosen = np.flatnonzero(self._guard.passing(batch, self.symbols.signed()))
            matches = match_selected(self.engine, batch, chosen)
        else:
            matches = self.engine.match(batch)
        documents, slots, witnesses = self._profiles.expand(matches, len(self.engine.store))
        pairs = documents.size
        hybrid = np.flatnonzero(self._is_hybrid[slots]) if self._hybrid else np.zeros(0, np.int64)
        asked = Pairs(documents[hybrid], slots[hybrid])
        reasons: dict[int, Undecided] = {}
        if hybrid.size:
            witnesses = witnesses.copy()
            symbols = self.symbols.signed()
            witnesses[hybrid], reasons = decide(
                batch, asked, self._hybrid, content=content, symbols=symbols, limits=self.evaluation
            )
            kept = witnesses >= 0
            documents, slots, witnesses = documents[kept], slots[kept], witnesses[kept]
        ruled_out = matches.funnel.candidates - matches.funnel.matches  # by the engine itself
        funnel = matches.funnel._replace(
            candidates=ruled_out + pairs, verified=matches.funnel.verified + hybrid.size, matches=documents.size
        )
        self.funnel = _sum(self.funnel, funnel)
        malformed = np.flatnonzero(batch.status == Status.MALFORMED)
        undecided = Pairs(*(pairs[list(reasons)] for pairs in asked))
        return BatchMatches(
            documents,
            slots,
            witnesses,
            batch,
            malformed,
            funnel,
            undecided.documents,
            undecided.slots,
            tuple(reasons.values()),
        )


def _batches(documents: Iterable[Document]) -> Iterator[tuple[list[str | int], list[bytes]]]:
    names: list[str | int] = []
    contents: list[bytes] = []
    size = 0
    for number, document in enumerate(documents):
        name, content = (number, document) if isinstance(document, bytes) else document
        names.append(name)
        contents.append(content)
        size += len(content)
        if len(names) == _BATCH_DOCUMENTS or size > _BATCH_BYTES:
            yield names, contents
            names, contents, size = [], [], 0
    if names:
        yield names, contents


def _fields(profile: Profile) -> tuple[str, str, Mapping[str, str] | None, bool]:
    if isinstance(profile, Mapping):
        profile = tuple(profile.get(name) for name in ("profile_id", "xpath", "namespaces", "ordered"))
    profile_id, xpath, namespaces, ordered = (*profile, None, None)[:4]
    return str(profile_id), str(xpath), namespaces, bool(ordered)


def _sum(total: Funnel, call: Funnel) -> Funnel:
    """Counts add up; what is known after a call replaces what was known before."""
    summed = Funnel(*(a + b for a, b in zip(total, call, strict=True)))
    return summed._replace(paths=call.paths, branches=call.branches)
