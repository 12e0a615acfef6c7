"""BoXFilter by batch beside one document after the other, over growing numbers of profiles.

Work is that of BoXFilter's Figure 10, each measurement in a process of its own. Times are CPU time. `peak_mb` is what
the process had in memory at its highest, `peak_before_mb` the same before the engine was made.
"""

import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

MODES = ("boxfilter", "b-boxfilter")


def run(*, documents: int, sizes: Sequence[int]) -> dict[str, Any]:
    """For each number of profiles both modes, and from which of them on the batch takes less time a document."""
    told: dict[str, Any] = {}
    quicker: list[int] = []
    for profiles in sizes:
        rows = {mode: _in_a_process(mode, documents, profiles) for mode in MODES}
        one_by_one, batch = (rows[mode]["match_us"] for mode in MODES)
        told[f"{profiles} profiles"] = {"batch_to_one_by_one": batch / one_by_one, **rows}
        quicker = [*quicker, profiles] if batch < one_by_one else []
    return {"documents": documents, **told, "batch_is_quicker_from": quicker[0] if quicker else "no size"}


def _in_a_process(mode: str, documents: int, profiles: int) -> dict[str, float]:
    call = f"from winnow.bench import modes; modes.main({mode!r}, {documents}, {profiles})"
    done = subprocess.run([sys.executable, "-c", call], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(mode: str, documents: int, profiles: int) -> None:
    """Prints one measurement as JSON."""
    from winnow.bench.engines import measure
    from winnow.reproduce import sweeps
    from winnow.reproduce.workload import prepare

    prepared = prepare(next(iter(sweeps.documents("full").values()))._replace(documents=documents, profiles=profiles))
    before = _peak_mb()
    row = measure(mode, prepared)
    kept = ("match_us", "sequences_us", "search_us", "verification_us", "candidates", "matches", "comparisons")
    print(json.dumps({name: row[name] for name in kept} | {"peak_mb": _peak_mb(), "peak_before_mb": before}))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
