"""Measure one engine on one workload: counts, and seconds beside lxml parsing of the same bytes in the same run.

Times are CPU seconds of this process: other programs on the machine then hardly count.
"""

import time
from typing import Any, NamedTuple

import numpy as np

from winnow.encoding import EncodedBatch, Encoder, PathTable, Vocabulary
from winnow.engines import create
from winnow.engines.base import Engine
from winnow.parsing import parse
from winnow.reproduce.workload import BATCH, Prepared, Workload, prepare

_ROUNDS, _ENOUGH = 3, 0.5  # rounds at most, and seconds of matching after which one more would tell little
_PARSED = 500

Measured = dict[str, Any]


class _Round(NamedTuple):
    scanning: float
    matching: float
    counts: dict[str, int]


def measure_engine(workload: Workload, name: str) -> Measured:
    """`counts` are sums over all documents; `states` and `bytes` are the size of the index."""
    prepared = prepare(workload)
    contents = prepared.contents
    warm_up(name, prepared)
    engine = create(name, prepared.vocabulary, prepared.paths)
    start = time.process_time()
    engine.add(prepared.patterns)
    building = time.process_time() - start
    encoder = Encoder(prepared.vocabulary, prepared.paths)
    first = _round(engine, encoder, contents)
    rounds = [first]
    while len(rounds) < _ROUNDS and sum(each.matching for each in rounds) < _ENOUGH:
        rounds.append(_round(engine, encoder, contents))
    later = rounds[1:] or rounds
    matching, scanning = min(r.matching for r in later), min(r.scanning for r in later)
    each = 1e6 / len(contents)
    parsing = parsing_us(contents)
    return {
        "seconds": round(building + sum(r.scanning + r.matching for r in rounds), 3),
        "build_seconds": round(building, 4),
        "first_us": round(first.matching * each, 3),  # all paths are new to the engine
        "match_us": round(matching * each, 3),
        "scan_us": round(scanning * each, 3),
        "lxml_parse_us": round(parsing, 3),
        "ratio": round((scanning + matching) * each / parsing, 4),
        "counts": first.counts,
    }


def warm_up(name: str, prepared: Prepared) -> None:
    """Kernels are compiled when they are first used: that is no one's cost here."""
    engine = create(name, Vocabulary(), PathTable())
    engine.add(prepared.patterns[:100])
    some = prepared.contents[:20]
    engine.match(Encoder(engine.store.vocabulary, engine.paths).encode(some, values=engine.needs_values))


def parsing_us(contents: list[bytes]) -> float:
    """What lxml takes to parse one of these documents."""
    some = contents[:_PARSED]
    start = time.process_time()
    for content in some:
        parse(content)
    return (time.process_time() - start) / len(some) * 1e6


def _round(engine: Engine, encoder: Encoder, contents: list[bytes]) -> _Round:
    scanning = matching = 0.0
    counts: dict[str, int] = {}
    matched_patterns: set[int] = set()
    for place in range(0, len(contents), BATCH):
        start = time.process_time()
        batch = encoder.encode(contents[place : place + BATCH], values=engine.needs_values)
        middle = time.process_time()
        found = engine.match(batch)
        matching += time.process_time() - middle
        scanning += middle - start
        matched_patterns.update(np.unique(found.patterns).tolist())
        new = _counts(engine, batch) | {
            "candidates": found.funnel.candidates,
            "verified": found.funnel.verified,
            "matches": found.funnel.matches,
            "matched_documents": np.unique(found.documents).size,
        }
        if "comparisons" not in new:  # of the default engine: a look-up for each node, and what was joined
            new["comparisons"] = batch.nodes + found.funnel.path_branches
        counts = {key: value + (counts.get(key, 0) if key not in _SIZES else 0) for key, value in new.items()}
    return _Round(scanning, matching, counts | {"matched_patterns": len(matched_patterns)})


# Of the index, not sums over documents.
_SIZES = {"states", "loops", "transitions", "machines", "bytes", "conditions", "sequences", "trie_nodes", "substrings"}
_SIZES |= {"rows", "predicates", "clusters"}


def _counts(engine: Engine, batch: EncodedBatch) -> dict[str, int]:
    """What the engine counts itself. Each has its own kind of comparison: a state with a node, an envelope with one."""
    own: dict[str, int] = dict(getattr(engine, "stats", {}))
    compared = getattr(engine, "compared", None)
    if compared is not None:
        own |= {"sequences": compared.build, "node_pairs": compared.node_pairs, "leaf_pairs": compared.leaf_pairs}
        own["comparisons"] = compared.node_pairs + compared.leaf_pairs
    return {key: int(value) for key, value in own.items()} | {"nodes": batch.nodes}
