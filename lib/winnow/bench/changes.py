"""Profiles that come and go between documents: what an insert, a delete and a search cost in a broker, by engine.

BoXFilter claims (section 4.3) that inserts and deletes can be mixed with searches. Here rounds of subscribing,
unsubscribing and publishing alternate; then nine tenths of the profiles are retired. Engines take up changes when they
next match, so the cost of a change includes matching no document. Times are CPU time of this process.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from random import Random
from typing import Any, NamedTuple

from winnow import Matcher
from winnow.bench.workloads import SEED
from winnow.broker import Broker, Delivery, Subscription
from winnow.encoding import Encoder
from winnow.generate.synthetic import Schema
from winnow.xpath import compile_profile

ENGINES = ("boxfilter", "b-boxfilter", "nfa", "buff", "boxpath")
ROUNDS = 20
RETIRED = 0.9
_REPEATS = 3

Row = dict[str, Any]


class Work(NamedTuple):
    profiles: list[Subscription]
    documents: list[bytes]


def run(*, profiles: int, documents: int, engines: tuple[str, ...] = ENGINES) -> dict[str, Any]:
    """One row for each engine; all of them sent the same.

    Raises:
        AssertionError: engines have sent different deliveries, or others than engines that met no change.
    """
    work = make_work(profiles, documents)
    measured = {engine: measure(engine, work) for engine in engines}
    (sent, *others) = (row.pop("sent") for row in measured.values())
    if any(other != sent for other in others):
        raise AssertionError("engines have sent different deliveries")
    start = time.process_time()
    for profile in work.profiles[:1000]:
        compile_profile(profile[1])
    parsing = (time.process_time() - start) / len(work.profiles[:1000]) * 1e6
    return {"profiles": profiles, "documents": documents, "parse_us": parsing, **measured}


def make_work(profiles: int, documents: int) -> Work:
    """Half of the profiles are paths, half of them twigs, in any order."""
    schema = Schema(SEED)
    xpaths = list(chain(islice(schema.paths(), profiles // 2), islice(schema.twigs(), profiles - profiles // 2)))
    Random(SEED).shuffle(xpaths)
    rows: list[Subscription] = [(str(k), xpath, {}, False, f"desk-{k % 100}") for k, xpath in enumerate(xpaths)]
    return Work(rows, schema.documents(documents))


def measure(engine: str, work: Work) -> Row:
    """Microseconds a profile or a document; `sent` is what all documents were sent to, after each step.

    Raises:
        AssertionError: the broker has sent something else than one that only ever had the profiles that are left.
    """
    _play(engine, Work(work.profiles[:200], work.documents[:20]))  # kernels are compiled when they are first used
    sent, row = _play(engine, work)
    fresh: list[Delivery] = []
    broker = Broker(fresh.append, Matcher(engine=engine))
    broker.subscribe(left_at_the_end(work).stay)
    _publish(broker, work.documents, "last")
    if contents(fresh) != contents(delivery for delivery in sent if delivery.document.startswith("last-")):
        raise AssertionError(f"{engine} has sent something else after profiles came and went")
    seconds = _fastest(_publish, broker, work.documents, "again")
    return {**row, "search_of_the_rest_alone_us": seconds / len(work.documents) * 1e6, "sent": contents(sent)}


def _play(engine: str, work: Work) -> tuple[list[Delivery], Row]:
    """Rounds of changes between documents, then the retirement of nine tenths."""
    sent: list[Delivery] = []
    broker = Broker(sent.append, Matcher(engine=engine))
    broker.subscribe(work.profiles[: len(work.profiles) // 2])
    _publish(broker, work.documents, "first")
    matcher = broker.matcher
    nothing = Encoder(matcher.vocabulary, matcher.paths).encode(work.documents[:1], values=True).slice(0, 0)

    def subscribe(profiles: list[Subscription]) -> None:
        broker.subscribe(profiles)
        matcher.engine.match(nothing)

    def unsubscribe(names: list[str]) -> None:
        broker.unsubscribe(names)
        matcher.engine.match(nothing)

    before = _fastest(_publish, broker, work.documents, "before")
    inserting = deleting = searching = 0.0
    rounds = list(_rounds(work))
    for number, (new, gone) in enumerate(rounds):
        inserting += _timed(subscribe, new)
        deleting += _timed(unsubscribe, gone)
        searching += _timed(_publish, broker, work.documents[number::ROUNDS], f"round-{number}")
    changed = max(sum(len(new) for new, _ in rounds), 1)
    go = left_at_the_end(work).go
    retiring = _timed(unsubscribe, go)
    _publish(broker, work.documents, "last")
    after = _fastest(_publish, broker, work.documents, "again")
    each = 1e6 / len(work.documents)
    return sent, {
        "insert_us": inserting / changed * 1e6,
        "delete_us": deleting / changed * 1e6,
        "retire_us": retiring / max(len(go), 1) * 1e6,
        "search_before_us": before * each,
        "search_between_us": searching * each,
        "search_after_us": after * each,
    }


def _rounds(work: Work) -> Iterator[tuple[list[Subscription], list[str]]]:
    """Profiles of the second half that come, and as many of the first half that go."""
    half = len(work.profiles) // 2
    step = half // ROUNDS
    for start in range(0, step * ROUNDS, step or 1):
        new = work.profiles[half + start : half + start + step]
        yield new, [profile[0] for profile in work.profiles[start : start + step]]


class Left(NamedTuple):
    """The profiles that are there after the rounds: those that are retired then, and those that stay."""

    go: list[str]
    stay: list[Subscription]


def left_at_the_end(work: Work) -> Left:
    half = len(work.profiles) // 2
    came = [profile for new, _ in _rounds(work) for profile in new]
    present = [*work.profiles[len(came) : half], *came]
    retired = set(Random(SEED).sample(range(len(present)), int(len(present) * RETIRED)))
    return Left(
        [present[k][0] for k in sorted(retired)],
        [profile for k, profile in enumerate(present) if k not in retired],
    )


def _publish(broker: Broker, documents: list[bytes], name: str) -> None:
    for number, content in enumerate(documents):
        broker.publish(f"{name}-{number}", content)
    broker.flush()


def contents(sent: Iterable[Delivery]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Returns what was sent, whatever the order in which profiles came."""
    return sorted((d.document, d.destination, tuple(sorted(d.profile_ids))) for d in sent)


def _timed(action: Callable[..., object], *values: Any) -> float:
    start = time.process_time()
    action(*values)
    return time.process_time() - start


def _fastest(action: Callable[..., object], *values: Any) -> float:
    return min(_timed(action, *values) for _ in range(_REPEATS))
