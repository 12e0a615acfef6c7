"""Mix profiles so that a wanted share of them matches, and a wanted share of the documents is matched.

Walks are measured on the documents with the default engine. One that matches is taken as long as the documents matched
by any stay within their share: so the first ones decide which documents these are, and later ones must keep to them.
Where too few do, walks are made from these documents themselves. One that matches none of all is a proven miss. What
was reached is said; nothing is assumed.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.encoding import PathTable, Vocabulary
from winnow.generate.guide import guides_of_documents
from winnow.generate.profiles import Made, ProfileMaker
from winnow.matcher import Matcher

Documents: TypeAlias = npt.NDArray[np.int32]

_LEAST, _MOST = 1000, 50_000  # walks measured at a time
_PATIENCE = 6  # times without a match that could be taken
_YIELD = 10  # fewer than one of so many matches taken: look where they are


class Targets(NamedTuple):
    """None: as it comes."""

    documents: float | None = None  # share that matches some profile
    profiles: float | None = None  # share that matches some document

    @property
    def are_set(self) -> bool:
        return self.documents is not None or self.profiles is not None


class Reached(NamedTuple):
    documents: float
    profiles: float


class _Wanted(NamedTuple):
    hits: int
    misses: int
    all: int


class Mixture:
    """Iterate once over it for the profiles; then ask what was `reached`."""

    def __init__(self, maker: ProfileMaker, count: int, documents: list[bytes], targets: Targets) -> None:
        self._maker, self._count, self._documents = maker, count, documents
        self._most_documents = round((1.0 if targets.documents is None else targets.documents) * len(documents))
        self._hits_wanted = None if targets.profiles is None else round(targets.profiles * count)
        self._covered = np.zeros(len(documents), np.bool_)
        self._hits = self._taken = self._fruitless = 0
        self.vocabulary, self.paths = Vocabulary(), PathTable()  # of the documents and of all that was tried

    @property
    def reached(self) -> Reached:
        return Reached(float(self._covered.mean()), self._hits / max(self._taken, 1))

    def __iter__(self) -> Iterator[Made]:
        walks, strays = self._maker.distinct(), self._maker.distinct("strays", stray=1.0)
        seen: set[Made] = set()
        while self._taken < self._count:
            wanted = self._wanted()
            size = min(max(_LEAST, 2 * wanted.all), _MOST)
            made = list(islice(walks, size if self._hits_wanted is None else size * wanted.hits // wanted.all))
            asked = len(made)
            made += islice(strays, size - asked)
            fresh = [each for each in dict.fromkeys(made) if each not in seen]
            if not fresh:
                return
            seen.update(fresh)
            before = self._hits
            yield from self._choose(fresh, wanted)
            self._fruitless = 0 if self._hits > before else self._fruitless + 1
            if wanted.hits and (self._hits - before) * _YIELD < min(asked, wanted.hits) and self._covered.any():
                walks = self._near().distinct(f"near/{len(seen)}")

    def _wanted(self) -> _Wanted:
        left = self._count - self._taken
        if self._hits_wanted is None:
            return _Wanted(left, left, left)
        hits = self._hits_wanted - self._hits if self._fruitless < _PATIENCE else 0
        return _Wanted(hits, left - hits, left)

    def _near(self) -> ProfileMaker:
        """Makes walks from the documents that are matched already, and from as many more as are wanted."""
        missing = self._most_documents - int(self._covered.sum())
        chosen = np.append(np.flatnonzero(self._covered), np.flatnonzero(~self._covered)[:missing])
        return self._maker.along(guides_of_documents(self._documents[number] for number in chosen))

    def _choose(self, made: list[Made], wanted: _Wanted) -> Iterator[Made]:
        hits, misses, _ = wanted
        for profile, documents in zip(made, self._measure(made), strict=True):
            if self._taken == self._count:
                return
            if documents.size == 0:
                if misses <= 0:
                    continue
                misses -= 1
            else:
                if hits <= 0 or not self._is_within(documents, hits):
                    continue
                hits -= 1
                self._covered[documents] = True
                self._hits += 1
            self._taken += 1
            yield profile

    def _is_within(self, documents: Documents, hits: int) -> bool:
        """The last tenth of the profiles is kept for documents that nothing has matched yet, while there is hope."""
        new = documents.size - int(self._covered[documents].sum())
        missing = self._most_documents - int(self._covered.sum())
        if new > missing:
            return False
        is_last = self._hits_wanted is not None and hits <= max(1, self._hits_wanted // 10)
        return new > 0 or missing == 0 or not is_last or self._fruitless >= _PATIENCE // 2

    def _measure(self, made: list[Made]) -> list[Documents]:
        """Per profile, the documents that match it."""
        profiles = ((str(n), each.xpath, dict(each.namespaces)) for n, each in enumerate(made))
        matcher = Matcher(profiles, vocabulary=self.vocabulary, paths=self.paths)
        found = matcher.match_contents(self._documents)
        order = np.argsort(found.profiles, kind="stable")
        slots, counts = np.unique(found.profiles, return_counts=True)
        parts: list[Documents] = [np.zeros(0, np.int32)] * len(made)
        for slot, documents in zip(slots, np.split(found.documents[order], np.cumsum(counts)[:-1]), strict=False):
            parts[int(matcher.profile_ids[slot])] = documents
        return parts
