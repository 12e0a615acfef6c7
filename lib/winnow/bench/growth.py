"""How do the jobs grow with the documents? `winnow bench pipeline` over several sizes, each in a process of its own.

What a date costs is drawn as fixed + slope x documents: of all jobs, of asking everything again, and of a backfill.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

HEAP = "2g"  # of the JVM that plans, joins and writes
LINES = ("all jobs", "asking all again", "backfill")


def run(folder: Path, *, sizes: Sequence[int], profiles: int, added: int, master: str) -> dict[str, Any]:
    measured = [_measure(folder, documents, profiles, added, master) for documents in sizes]
    seconds = {
        "all jobs": [size["compared_seconds"] for size in measured],
        "asking all again": [size["asking_all_again"]["seconds"] for size in measured],
        "backfill": [size["backfill"]["seconds"] for size in measured],
    }
    fitted = {name: np.polyfit(sizes, seconds[name], 1) for name in LINES}
    result: dict[str, Any] = {"profiles": profiles, "added": added, "heap": HEAP}
    for documents, size in zip(sizes, measured, strict=True):
        result[f"{documents} documents"] = {
            "all_jobs_microseconds_a_document": 1e6 * size["compared_seconds"] / documents,
            "times_the_floor": size["times_the_floor"],
            "asking_all_again_seconds": size["asking_all_again"]["seconds"],
            "backfill_seconds": size["backfill"]["seconds"],
            "client_peak_megabytes": size["client_peak_megabytes"],
        }
    for name, (slope, fixed) in fitted.items():
        result[name] = {"microseconds_a_document": 1e6 * float(slope), "fixed_seconds": float(fixed)}
    result["backfill_slope_of_asking_all"] = float(fitted["backfill"][0] / fitted["asking all again"][0])
    result["plot"] = str(_draw(folder, sizes, seconds, fitted))
    return result


def _measure(folder: Path, documents: int, profiles: int, added: int, master: str) -> dict[str, Any]:
    sizes = {"--documents": documents, "--profiles": profiles, "--added": added}
    command = [sys.executable, "-m", "winnow", "bench", "pipeline", "--json", "--folder", str(folder)]
    command += [f"{name}={value}" for name, value in sizes.items()] + [f"--master={master}"]
    environment = {**os.environ, "WINNOW_DRIVER_MEMORY": HEAP}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True, check=True)
    (folder / f"growth-{documents}.json").write_text(done.stdout)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _draw(folder: Path, sizes: Sequence[int], seconds: dict[str, list[float]], fitted: dict[str, Any]) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.5), constrained_layout=True)
    for name in LINES:
        slope, fixed = fitted[name]
        label = f"{name}: {fixed:.1f} s + {1e6 * slope:.1f} µs a document"
        (points,) = axis.plot(sizes, seconds[name], "o", label=label)
        axis.plot([0, max(sizes)], [fixed, fixed + slope * max(sizes)], color=points.get_color(), alpha=0.5)
    axis.set_xlabel("documents of the date")
    axis.set_ylabel("seconds")
    axis.legend()
    axis.set_title("What a date costs: fixed + slope × documents")
    target = folder / "growth.png"
    figure.savefig(target, dpi=110)
    plt.close(figure)
    return target
