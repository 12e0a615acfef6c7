"""Where BoXFilter's time goes (VLDB 2007, Figures 12 and 13): seconds of each stage, of one workload."""

import time
from collections.abc import Callable
from typing import cast

from winnow.encoding import Encoder, document_sequences
from winnow.engines import create
from winnow.engines.boxfilter.engine import BatchBoxFilter, BoxFilter
from winnow.envelope import EnvelopeTree, SequenceSet
from winnow.reproduce.measure import Measured, parsing_us, warm_up
from winnow.reproduce.workload import BATCH, Workload, prepare

STAGES = ("documents", "verification", "profiles", "profile tree", "document tree", "matching")


def measure_stages(workload: Workload, name: str) -> Measured:
    """`stages` are CPU seconds. What the engine does in one go is found by taking away what was measured alone."""
    prepared = prepare(workload)
    contents, paths = prepared.contents[:BATCH], prepared.paths
    warm_up(name, prepared)
    engine = cast(BoxFilter | BatchBoxFilter, create(name, prepared.vocabulary, paths))
    encoder = Encoder(prepared.vocabulary, paths)
    profiles = _seconds(lambda: engine.add(prepared.patterns))
    scanning = min(_seconds(lambda: encoder.encode(contents, values=engine.needs_values)) for _ in range(3))
    batch = encoder.encode(contents, values=engine.needs_values)
    first = _seconds(lambda: list(engine.candidates(batch)))
    found = min(_seconds(lambda: list(engine.candidates(batch))) for _ in range(3))
    whole = min(_seconds(lambda: engine.match(batch)) for _ in range(3))
    symbols, offsets = document_sequences(batch, paths)
    encoding = min(_seconds(lambda: document_sequences(batch, paths)) for _ in range(3))
    tree = 0.0
    if isinstance(engine, BatchBoxFilter):
        parameters = engine.index.tree.parameters
        tree = _seconds(lambda: EnvelopeTree.bulk_load(SequenceSet(offsets, symbols, symbols), parameters))
    parts = (scanning + encoding, whole - found, profiles, first - found, tree, found - encoding - tree)
    stages = {stage: round(max(seconds, 0.0), 5) for stage, seconds in zip(STAGES, parts, strict=True)}
    counts = {"node_pairs": engine.compared.node_pairs, "leaf_pairs": engine.compared.leaf_pairs}
    spent = {"seconds": sum(stages.values()), "lxml_parse_us": round(parsing_us(contents), 3)}
    return {"stages": stages, "counts": counts} | spent


def _seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start
