"""A broker (Moro, Bakalov, Tsotras, VLDB 2007, §4.1 and §4.4): documents in, each sent once to every destination.

The dictionary and the index are the matcher's. Beside them are the *routing table*, of profiles as they were given and
their destinations, and the *document table*, of documents that wait until there are enough of them for one batch.

>>> sent = []
>>> broker = Broker(sent.append)
>>> broker.subscribe([("p1", "//item[@price > 10]", {}, False, "desk"), ("p2", "//item", {}, False, "desk")])
[]
>>> broker.publish("a.xml", b"<order><item price='12'/></order>")
>>> broker.unsubscribe(["p2"])  # after a.xml, which still meets it
>>> broker.publish("b.xml", b"<order><item price='7'/></order>")
>>> broker.flush()
>>> sent
[Delivery(document='a.xml', destination='desk', profile_ids=('p1', 'p2'))]
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from winnow.arrays.column import Column
from winnow.encoding import Vocabulary
from winnow.errors import UsageError
from winnow.matcher import BatchMatches, Matcher, RejectedProfile

_BATCH_BYTES = 8 << 20

Subscription: TypeAlias = tuple[str, str, Mapping[str, str], bool, str | None]


class Route(NamedTuple):
    """A row of the routing table. A profile without destination is matched, but nothing is sent."""

    xpath: str
    namespaces: Mapping[str, str]
    ordered: bool
    destination: str | None
    slot: int  # of the profile in the matcher


class Delivery(NamedTuple):
    document: str
    destination: str
    profile_ids: tuple[str, ...]  # those of the destination that hold, in order of arrival


class Broker:
    """`send` is called with every delivery, in the order of the documents.

    A document meets the profiles that were there when it was published, however many documents make a batch: before
    profiles change, the documents that wait are matched. What was refused or undecided is in the lists of `matcher`.
    """

    def __init__(
        self, send: Callable[[Delivery], object], matcher: Matcher | None = None, *, batch_documents: int = 1024
    ) -> None:
        self.matcher = Matcher() if matcher is None else matcher
        if self.matcher.profile_ids:
            raise UsageError("profiles_without_route", "the matcher has profiles, whose destinations are not known")
        self._send, self._batch_documents = send, batch_documents
        self._routes: dict[str, Route] = {}
        self._documents: dict[str, bytes] = {}
        self._waiting_bytes = 0
        self._destinations: dict[str, int] = {}
        self._destination_of = Column(np.int32)  # per slot: number of the destination, or -1

    @property
    def dictionary(self) -> Vocabulary:
        return self.matcher.vocabulary

    @property
    def routing_table(self) -> Mapping[str, Route]:
        return MappingProxyType(self._routes)

    @property
    def document_table(self) -> Mapping[str, bytes]:
        """Documents that wait."""
        return MappingProxyType(self._documents)

    def subscribe(self, profiles: Iterable[Subscription]) -> list[RejectedProfile]:
        """Take profiles `(profile_id, xpath, namespaces, ordered, destination)`, new ones or changes of known ones.

        Those that were rejected; a rejected change leaves the profile as it was. A change of the destination alone is
        a change of the routing table, not of the index.
        """
        self.flush()
        rejected: list[RejectedProfile] = []
        chunk: dict[str, Subscription] = {}
        for profile in profiles:
            if profile[0] in chunk:
                rejected += self._take(chunk)
                chunk = {}
            chunk[profile[0]] = profile
        return rejected + self._take(chunk)

    def unsubscribe(self, profile_ids: Iterable[str]) -> None:
        wanted = list(profile_ids)
        self.flush()
        self.matcher.retire(wanted)
        for profile_id in dict.fromkeys(wanted):
            del self._routes[profile_id]

    def publish(self, document: str, content: bytes) -> None:
        """Put a document into the document table; when there are enough of them, they are matched and sent."""
        if document in self._documents:
            self.flush()
        self._documents[document] = content
        self._waiting_bytes += len(content)
        if len(self._documents) >= self._batch_documents or self._waiting_bytes > _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Match and send what waits. When sending fails, all of it still waits, so that nothing is lost."""
        for names, found in self.matcher.match_batches(self._documents.items()):
            for delivery in self._deliveries(names, found):
                self._send(delivery)
        self._documents, self._waiting_bytes = {}, 0

    def _take(self, profiles: Mapping[str, Subscription]) -> list[RejectedProfile]:
        """Profiles with distinct ids."""
        known = {profile_id: self._routes[profile_id] for profile_id in profiles if profile_id in self._routes}
        changed = {i: route for i, route in known.items() if profiles[i][1:4] != route[:3]}
        self.matcher.retire(changed)
        rejected = self._add(
            row for profile_id, row in profiles.items() if profile_id not in known or profile_id in changed
        )
        refused = {row.profile_id for row in rejected}
        self._add((i, *route[:4]) for i, route in changed.items() if i in refused)
        for profile_id, route in known.items():
            if profile_id not in changed:
                self._routes[profile_id] = route._replace(destination=profiles[profile_id][4])
                self._destination_of.view[route.slot] = self._number(profiles[profile_id][4])
        return rejected

    def _add(self, profiles: Iterable[Subscription]) -> list[RejectedProfile]:
        given = {profile[0]: profile for profile in profiles}
        first = len(self.matcher.profile_ids)
        rejected = self.matcher.add(profile[:4] for profile in given.values())
        added = self.matcher.profile_ids[first:]
        for slot, profile_id in enumerate(added, first):
            self._routes[profile_id] = Route(*given[profile_id][1:], slot)
        numbers = [self._number(given[profile_id][4]) for profile_id in added]
        self._destination_of.extend(np.array(numbers, np.int32))
        return rejected

    def _number(self, destination: str | None) -> int:
        return -1 if destination is None else self._destinations.setdefault(destination, len(self._destinations))

    def _deliveries(self, names: list[str | int], found: BatchMatches) -> Iterator[Delivery]:
        destination = self._destination_of.view[found.profiles]
        rows = np.flatnonzero(destination >= 0)
        group = found.documents[rows].astype(np.int64) * len(self._destinations) + destination[rows]
        order = np.lexsort((found.profiles[rows], group))
        rows, group = rows[order], group[order]
        starts = np.flatnonzero(np.diff(group, prepend=-1))
        places = list(self._destinations)
        ids = [self.matcher.profile_ids[slot] for slot in found.profiles[rows].tolist()]
        heads = zip(found.documents[rows[starts]].tolist(), destination[rows[starts]].tolist(), strict=True)
        ends = np.append(starts, rows.size).tolist()
        for k, (document, place) in enumerate(heads):
            yield Delivery(str(names[document]), places[place], tuple(ids[ends[k] : ends[k + 1]]))
