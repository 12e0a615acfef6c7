"""Profiles and the patterns they are made of, as flat arrays: many profiles share a pattern, some have several."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from winnow.arrays.column import Column
from winnow.arrays.kernel import kernel
from winnow.arrays.types import Ints, Longs
from winnow.engines.base import Matches


class Subscribed(NamedTuple):
    """Pattern p serves the live profiles `profiles[offsets[p]:offsets[p + 1]]`."""

    offsets: Longs
    profiles: Ints


class ProfileTable:
    """Profiles have slots, numbers in order of arrival. A slot is never used again, so that ids can be.

    Whoever keeps the ids himself, as an index file does, adds profiles by `add_unnamed`: then slots are all there is.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []
        self._slots: dict[str, int] = {}  # of live profiles that have an id
        self._live = Column(np.bool_)
        self._profile, self._pattern = Column(np.int32), Column(np.int32)
        self._subscribed: Subscribed | None = None
        self._stamps = Column(np.int64)
        self._stamp = 0

    def __len__(self) -> int:
        return int(np.count_nonzero(self._live.view))

    @property
    def slots(self) -> int:
        """How many were handed out."""
        return len(self._live)

    def __contains__(self, profile_id: str) -> bool:
        return profile_id in self._slots

    def add(self, profile_ids: Iterable[str], alternatives: Ints, patterns: Ints) -> None:
        """Profiles in order, each with its number of alternatives; `patterns` are those of all, one after the other."""
        for profile_id in profile_ids:
            self._slots[profile_id] = len(self.ids)
            self.ids.append(profile_id)
        self.add_unnamed(alternatives, patterns)

    def add_unnamed(self, alternatives: Ints, patterns: Ints) -> None:
        """As `add`, of profiles that are known by their slots alone."""
        first, last = len(self._live), len(self._live) + alternatives.size
        self._live.resize(last, 1)
        self._profile.extend(np.repeat(np.arange(first, last), alternatives))
        self._pattern.extend(patterns)
        self._subscribed = None

    def retire(self, profile_ids: Iterable[str]) -> Ints:
        """The patterns that serve nobody any more."""
        slots = np.array([self._slots.pop(profile_id) for profile_id in profile_ids], np.int64)
        self._live.view[slots] = False
        links = self._live.view[self._profile.view]
        touched = np.unique(self._pattern.view[np.isin(self._profile.view, slots)])
        self._subscribed = None
        return np.setdiff1d(touched, self._pattern.view[links]).astype(np.int32)

    def subscribed(self, patterns: int) -> Subscribed:
        if self._subscribed is None or self._subscribed.offsets.size <= patterns:
            links = np.flatnonzero(self._live.view[self._profile.view])
            pattern = self._pattern.view[links]
            offsets = np.concatenate([[0], np.cumsum(np.bincount(pattern, minlength=patterns))]).astype(np.int64)
            order = np.argsort(pattern, kind="stable")
            self._subscribed = Subscribed(offsets, self._profile.view[links[order]])
        return self._subscribed

    def expand(self, matches: Matches, patterns: int) -> tuple[Ints, Ints, Ints]:
        """(document, slot, witness), each pair of document and profile once: alternatives may hold together."""
        self._stamps.resize(len(self._live), -1)
        documents = int(matches.documents[-1]) + 1 if matches.documents.size else 0
        rows = _expand(matches[:3], self.subscribed(patterns), self._stamps.view, self._stamp)
        self._stamp += documents
        return rows[0], rows[1], rows[2]


@kernel
def _expand(found: tuple[Ints, Ints, Ints], subscribed: Subscribed, stamps: Longs, last_stamp: int) -> Ints:
    documents, patterns, witnesses = found
    offsets, profiles = subscribed
    room = 0
    for k in range(patterns.size):
        room += offsets[patterns[k] + 1] - offsets[patterns[k]]
    rows = np.empty((3, room), np.int32)
    used = 0
    for k in range(patterns.size):
        stamp = last_stamp + documents[k]
        for j in range(offsets[patterns[k]], offsets[patterns[k] + 1]):
            slot = profiles[j]
            if stamps[slot] != stamp:
                stamps[slot] = stamp
                rows[0, used] = documents[k]
                rows[1, used] = slot
                rows[2, used] = witnesses[k]
                used += 1
    return rows[:, :used]
