"""All engines on the papers' workloads: where the time goes, what is compared, and how they stand to nfa and buff.

Times are CPU seconds of this process, all in one run; `sequences` is what an engine makes of encoded documents before
it searches, `verification` what the shared verification takes, `search` the rest of `match`.
"""

import gc
import json
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from tqdm import tqdm

from winnow.encoding import EncodedBatch, Encoder
from winnow.engines import ENGINES, create
from winnow.engines.base import Engine
from winnow.engines.boxfilter.engine import BatchBoxFilter, BoxFilter
from winnow.engines.verification.verify import Verifier
from winnow.reproduce import sweeps
from winnow.reproduce.measure import own_counts, warm_up
from winnow.reproduce.workload import BATCH, Prepared, Workload, prepare

PEERS = ("nfa", "buff")
_ROUNDS = 3

Row = dict[str, Any]


def workloads(scale: int) -> dict[str, Workload]:
    """The middle of the papers' figures; `scale` divides the number of profiles."""
    box, trie = next(iter(sweeps.documents("full").values())), sweeps.TRIE
    return {
        "boxfilter-9": box._replace(profiles=10_000 // scale),
        "boxfilter-10": box._replace(profiles=100_000 // scale),
        "xtrie-7a": trie._replace(documents=1000, profiles=10_000 // scale),
        "wfilter-3": trie._replace(documents=1000, profiles=10_000 // scale, walk=sweeps.ATTRIBUTES),
    }


def run(folder: Path, *, quick: bool, engines: tuple[str, ...] = tuple(ENGINES)) -> dict[str, Any]:
    """One row for each workload and engine; `engines.json` goes to `folder`."""
    rows: list[Row] = []
    chosen = workloads(10 if quick else 1)
    for name, workload in (bar := tqdm(chosen.items(), unit=" workload")):
        bar.set_description(name)
        prepared = prepare(workload)
        own = [{"workload": name, "profiles": workload.profiles, **measure(engine, prepared)} for engine in engines]
        for row in own:
            for peer in own:
                if peer["engine"] in PEERS:
                    row[f"to_{peer['engine']}"] = row["match_us"] / peer["match_us"]
        if len({row["matches"] for row in own}) != 1:
            raise AssertionError(f"engines disagree on {name}: { ({row['engine']: row['matches'] for row in own}) }")
        rows += own
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "engines.json").write_text(json.dumps(rows, indent=1) + "\n")
    return {"table": table(rows)}


def measure(name: str, prepared: Prepared) -> Row:
    """Everything about one engine on one workload, per document where it is a time or a count."""
    warm_up(name, prepared)
    before = _resident_mb()
    engine = create(name, prepared.vocabulary, prepared.paths)
    start = time.process_time()
    engine.add(prepared.patterns)
    building = time.process_time() - start
    encoder = Encoder(prepared.vocabulary, prepared.paths)
    contents = prepared.contents
    batches = [
        encoder.encode(contents[place : place + BATCH], values=engine.needs_values)
        for place in range(0, len(contents), BATCH)
    ]
    start = time.process_time()
    for batch in batches:
        engine.match(batch)
    first = time.process_time() - start
    memory = _resident_mb() - before
    rounds = [_round(engine, batches) for _ in range(_ROUNDS)]
    best = min(rounds, key=lambda row: row["match_us"])
    scale = 1e6 / len(contents)
    times = {key: value * scale if key.endswith("_us") else value / len(contents) for key, value in best.items()}
    return {
        "engine": name,
        **times,
        "first_us": first * scale,
        "build_s": building,
        "index_mb": memory,
    }


def _round(engine: Engine, batches: list[EncodedBatch]) -> dict[str, float]:
    """Seconds and counts over all batches."""
    total = {"match_us": 0.0, "sequences_us": 0.0, "verification_us": 0.0}
    counts = {"candidates": 0, "comparisons": 0, "matches": 0}
    for batch in batches:
        if isinstance(engine, BoxFilter | BatchBoxFilter):
            start = time.process_time()
            engine.document_sequences(batch)
            total["sequences_us"] += time.process_time() - start
        with timed_verification() as spent:
            start = time.process_time()
            found = engine.match(batch)
            total["match_us"] += time.process_time() - start
        total["verification_us"] += spent[0]
        own = own_counts(engine, batch)
        counts["candidates"] += found.funnel.candidates
        counts["comparisons"] += own.get("comparisons", batch.nodes + found.funnel.path_branches)
        counts["matches"] += found.funnel.matches
    total["search_us"] = total["match_us"] - total["sequences_us"] - total["verification_us"]
    return total | counts


@contextmanager
def timed_verification() -> Iterator[list[float]]:
    """Adds up what all verifiers take meanwhile."""
    spent, real = [0.0], Verifier.verify

    def verify(self: Verifier, *args: Any) -> Any:
        start = time.process_time()
        try:
            return real(self, *args)
        finally:
            spent[0] += time.process_time() - start

    with patch.object(Verifier, "verify", verify):
        yield spent


def _resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def table(rows: list[Row]) -> str:
    """The rows as text; times in microseconds a document."""
    heads = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_shown(row.get(head, "")) for head in heads] for row in rows]
    widths = [max(len(head), *(len(line[k]) for line in cells)) for k, head in enumerate(heads)]
    lines = [heads, *cells]
    return "\n" + "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines
    )


def _shown(value: Any) -> str:
    return (
        f"{value:,.2f}" if isinstance(value, float | np.floating) else f"{value:,}" if isinstance(value, int) else value
    )
