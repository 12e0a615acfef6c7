"""Which pairs the oracle is asked about: matches, and non-matches of several kinds, of each class of profiles.

A random pair is hardly ever a match, so it hardly ever shows a lost one. Most non-matches are therefore chosen where a
match could be: profiles whose labels the document has, those without any match first, and profiles that match others.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

Pair = tuple[int, int]  # document and profile


class Universe(NamedTuple):
    """Documents and profiles by number; `answers` has the profiles that each document satisfies, as is to be published.

    `unsure` are pairs that nobody decided, and `unasked` the profiles that a document is to be asked later.
    """

    documents: int
    classes: Sequence[str]  # of the profiles
    answers: Mapping[int, frozenset[int]]
    unsure: frozenset[Pair] = frozenset()
    unasked: Mapping[int, frozenset[int]] = {}

    @property
    def pairs(self) -> int:
        return self.documents * len(self.classes)

    def is_match(self, pair: Pair) -> bool:
        return pair[1] in self.answers.get(pair[0], ())

    def is_decided(self, pair: Pair) -> bool:
        return pair not in self.unsure and pair[1] not in self.unasked.get(pair[0], ())


def census(universe: Universe) -> list[Pair]:
    """All pairs."""
    every = ((d, p) for d in range(universe.documents) for p in range(len(universe.classes)))
    return [pair for pair in every if universe.is_match(pair) or universe.is_decided(pair)]


def matches(universe: Universe, size: int, rng: random.Random) -> list[Pair]:
    """Of each class as many, as far as there are."""
    by_class: dict[str, list[Pair]] = {}
    for document, profiles in universe.answers.items():
        for profile in sorted(profiles):
            by_class.setdefault(universe.classes[profile], []).append((document, profile))
    return _shared([rng.sample(pairs, len(pairs)) for _, pairs in sorted(by_class.items())], size)


def non_matches(
    universe: Universe, size: int, rng: random.Random, labels: Mapping[int, Sequence[frozenset[str]]],
    held: Sequence[frozenset[str]],
) -> list[Pair]:  # fmt: skip
    """`labels` has, for some profiles, the alternative sets of what a document must have; `held` what each has."""
    kinds: list[list[Pair]] = []
    answered = set(chain.from_iterable(universe.answers.values()))
    for name in sorted(set(universe.classes)):
        own = [profile for profile, klass in enumerate(universe.classes) if klass == name]
        likely = sorted((p for p in labels if universe.classes[p] == name), key=lambda p: (p in answered, rng.random()))
        near = [profile for profile in own if profile in answered]
        kinds += [_open(universe, _likely(likely, labels, held, rng), size)]
        kinds += [_open(universe, _random(universe, near, 4 * size, rng), size)]
        kinds += [_open(universe, _random(universe, own, 2 * size, rng), size)]
    return _shared(kinds, size)


def _likely(
    profiles: Iterable[int], labels: Mapping[int, Sequence[frozenset[str]]], held: Sequence[frozenset[str]],
    rng: random.Random,
) -> Iterable[Pair]:  # fmt: skip
    """Each profile with up to four documents that have all of its labels."""
    fitted: dict[tuple[frozenset[str], ...], list[int]] = {}  # many profiles need the same
    for profile in profiles:
        needed = tuple(labels[profile])
        if needed not in fitted:
            fitted[needed] = [d for d, own in enumerate(held) if any(wanted <= own for wanted in needed)]
        fitting = fitted[needed]
        for document in rng.sample(fitting, min(4, len(fitting))):
            yield document, profile


def _random(universe: Universe, profiles: Sequence[int], tries: int, rng: random.Random) -> Iterable[Pair]:
    if profiles and universe.documents:
        for _ in range(tries):
            yield rng.randrange(universe.documents), rng.choice(profiles)


def _open(universe: Universe, pairs: Iterable[Pair], size: int) -> list[Pair]:
    """The first that are decided and no matches, each once."""
    found: dict[Pair, None] = {}
    for pair in pairs:
        if len(found) == size:
            break
        if universe.is_decided(pair) and not universe.is_match(pair):
            found[pair] = None
    return list(found)


def _shared(kinds: Sequence[Sequence[Pair]], size: int) -> list[Pair]:
    """`size` pairs, taken from the kinds in turn, so that the rare ones are all there.

    >>> _shared([[(0, 0), (0, 1), (0, 2)], [(1, 0)], [(0, 1)]], 4)
    [(0, 0), (1, 0), (0, 1), (0, 2)]
    """
    found: dict[Pair, None] = {}
    for turn in range(max(map(len, kinds), default=0)):
        for kind in kinds:
            if turn < len(kind) and len(found) < size:
                found[kind[turn]] = None
    return list(found)
