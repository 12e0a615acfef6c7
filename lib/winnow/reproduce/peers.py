"""Strategies for values on a Spark cluster, partitions of the profiles in the place of peers (DEBS 2010, §6).

Each peer is a task with an automaton over its share of the profiles. Top-down and step-by-step share them out by how
they begin, as states of one automaton are; bottom-up by one of their predicates. A document goes to every peer, or,
where values decide, only to those that could have something for it. When a peer is done with a document, it notes the
time: that is when its subscribers would hear of it.

A message is what the paper's peers send one another: for automata one for each state that is entered, because states
are spread over peers; for bottom-up one for each value of a document, to whoever keeps the profiles that ask for it.
"""

import atexit
import pickle
import shutil
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.arrays.types import Floats, Longs
from winnow.encoding import Encoder
from winnow.encoding.path_symbols import PathSymbols
from winnow.engines import create
from winnow.engines.automata.pruned import beginnings
from winnow.engines.automata.strategies import BOTTOM_UP, PRUNED, PRUNED_RANDOM, STEP_BY_STEP, TOP_DOWN
from winnow.index.codes import LabelCodes
from winnow.patterns.lines import lines_of
from winnow.patterns.store import PatternStore
from winnow.reproduce.measure import parsing_us
from winnow.reproduce.workload import Prepared, Workload, prepare
from winnow.values.bloom import CountingBloom
from winnow.values.counting import count_values, selectivity_of
from winnow.values.guard import FALSE_POSITIVES, one_each, rareness
from winnow.values.predicates import BY_TEXT, Predicates, Values, asked_kinds, predicates_of, values_of

if TYPE_CHECKING:
    from pyspark import SparkContext

PEERS = 8
MASTER = "local-cluster[2,1,1024]"
_BATCH = 10  # documents that a peer takes at a time
_SAMPLE = 200  # documents that tell how rare values are
_SHOWN = 50  # points of an arrival curve
_ENGINES = {
    STEP_BY_STEP: "nfa+step-by-step",
    TOP_DOWN: "nfa+top-down",
    BOTTOM_UP: "nfa+bottom-up",
    PRUNED: "nfa+top-down",
    PRUNED_RANDOM: "nfa+top-down",
}


class Share(NamedTuple):
    """What a peer gets: its engine, pickled, and the documents that come to it."""

    engine: bytes
    documents: Longs


class Heard(NamedTuple):
    """What a peer says: at which times it had so many notifications more, and what it has counted."""

    times: list[float]
    notifications: list[int]
    counts: dict[str, int]


def measure_peers(workload: Workload, name: str) -> dict[str, Any]:
    """Wall-clock seconds of the whole cluster; the name is that of a strategy."""
    prepared = prepare(workload)
    shares, values = _share_out(prepared, name)
    context = _context()
    shared = context.broadcast((shares, prepared.contents))

    def listen(peers: Iterable[int], began: float, most: int) -> Iterator[Heard]:
        shares, contents = shared.value
        for peer in peers:
            yield _listen(shares[peer], contents, began, most)

    peers = context.parallelize(range(PEERS), PEERS)
    peers.mapPartitions(lambda own: listen(own, 0.0, _BATCH)).collect()  # kernels are loaded now
    began = time.time()
    answers: list[Heard] = peers.mapPartitions(lambda own: listen(own, began, len(prepared.contents))).collect()
    seconds = time.time() - began
    shared.unpersist()
    counts = {name: sum(answer.counts[name] for answer in answers) for name in answers[0].counts}
    counts["sent"] = sum(share.documents.size for share in shares)
    counts["messages"] = values if name == BOTTOM_UP else counts["moves"]
    return {
        "seconds": round(seconds, 3),
        "match_us": round(seconds / len(prepared.contents) * 1e6, 3),
        "scan_us": 0.0,
        "lxml_parse_us": round(parsing_us(prepared.contents), 3),
        "arrivals": _arrivals(answers),
        "counts": counts,
    }


def _share_out(prepared: Prepared, name: str) -> tuple[list[Share], int]:
    """The shares of the peers; and how many distinct values the documents have, each on its own."""
    store = PatternStore(prepared.vocabulary)
    _, kept = np.unique(store.add(prepared.patterns), return_index=True)
    patterns = [prepared.patterns[k] for k in kept.tolist()]  # by id
    labels = LabelCodes(prepared.vocabulary)
    lines = lines_of(store.twigs, 0, len(store), store.height)
    batch = Encoder(prepared.vocabulary, prepared.paths).encode(prepared.contents, values=True)
    symbols = PathSymbols(prepared.paths, prepared.vocabulary).signed()
    predicates = predicates_of(lines, store.twigs.tests, labels.all())
    kinds = asked_kinds(predicates, len(prepared.vocabulary)) | np.uint8(BY_TEXT)
    values = values_of(batch, symbols, labels.all(), kinds)
    chosen = one_each(predicates, _weights(prepared, predicates, name))
    code, has_any = np.zeros(len(store), np.int64), np.zeros(len(store), np.bool_)
    code[predicates.owner[chosen]] = predicates.codes[chosen]
    has_any[predicates.owner[chosen]] = True
    home = beginnings(lines, range(len(store)))
    home = (np.where(has_any, code, home) if name == BOTTOM_UP else home) % PEERS
    shares = []
    for peer in range(PEERS):
        own = np.flatnonzero(home == peer)
        engine = create(_ENGINES[name], prepared.vocabulary, prepared.paths)
        engine.add(patterns[k] for k in own.tolist())
        documents = np.arange(batch.documents)
        if name in {BOTTOM_UP, PRUNED, PRUNED_RANDOM} and has_any[own].all():
            documents = np.flatnonzero(_wanted(code[own], values))
        shares.append(Share(pickle.dumps(engine), documents if own.size else documents[:0]))
    owner = np.repeat(np.arange(batch.documents), np.diff(values.ends))
    return shares, np.unique(np.stack([owner, values.codes]), axis=1).shape[1]


def _weights(prepared: Prepared, predicates: Predicates, name: str) -> Floats:
    """Which predicate of a profile goes into the value filter (§5.3)."""
    if name == PRUNED_RANDOM:
        return np.random.default_rng(2010).random(predicates.owner.size)
    some = prepared.contents[:_SAMPLE]
    batch = Encoder(prepared.vocabulary, prepared.paths).encode(some, values=True)
    symbols = PathSymbols(prepared.paths, prepared.vocabulary).signed()
    return rareness(predicates, selectivity_of(count_values(batch, symbols, prepared.vocabulary), len(some)))


def _wanted(codes: Longs, values: Values) -> npt.NDArray[np.bool_]:
    """The documents that have one of these values, and a few others."""
    value_filter = CountingBloom(max(codes.size, 1), FALSE_POSITIVES)
    value_filter.add(codes)
    return value_filter.has_any(values.codes, values.ends)


def _listen(share: Share, contents: list[bytes], began: float, most: int) -> Heard:
    """What a peer does, in a worker."""
    engine: Any = pickle.loads(share.engine)
    encoder = Encoder(engine.store.vocabulary, engine.paths)
    heard = Heard([], [], dict.fromkeys(("matches", "candidates", "verified", "moves", "comparisons"), 0))
    documents = share.documents[:most]
    for place in range(0, documents.size, _BATCH):
        some = [contents[k] for k in documents[place : place + _BATCH].tolist()]
        found = engine.match(encoder.encode(some, values=True))
        heard.times.append(time.time() - began)
        heard.notifications.append(found.documents.size)
        for name in ("matches", "candidates", "verified"):
            heard.counts[name] += getattr(found.funnel, name)
        heard.counts["moves"] += engine.stats["moves"]
        heard.counts["comparisons"] += engine.stats["comparisons"] + found.funnel.verified
    return heard


def _arrivals(answers: list[Heard]) -> list[tuple[float, int]]:
    """(seconds, notifications by then), about `_SHOWN` of them and the last."""
    events = sorted((t, n) for answer in answers for t, n in zip(answer.times, answer.notifications, strict=True) if n)
    totals = np.cumsum([n for _, n in events]).tolist()
    curve = [(round(t, 4), total) for (t, _), total in zip(events, totals, strict=True)]
    return curve[:: max(1, len(curve) // _SHOWN)] + curve[-1:]


@cache
def _context() -> "SparkContext":
    import pyspark

    from winnow.tables.session import open_session

    # This kind of cluster keeps the logs of its executors in Spark's own folder.
    atexit.register(shutil.rmtree, Path(pyspark.__file__).parent / "work", ignore_errors=True)
    return open_session(master=MASTER, app="winnow-reproduce").sparkContext
