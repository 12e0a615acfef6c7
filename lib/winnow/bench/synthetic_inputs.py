"""Inputs of the Spark benchmarks: documents and profiles of one synthetic schema, written once and kept."""

import json
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from winnow.generate.sample import write_tar
from winnow.generate.synthetic import Schema, Step

SEED = 7
ARCHIVES = 10


def write_documents(folder: Path, documents: int) -> Path:
    """Returns a folder of ten `.tar.gz` with so many documents of 100 elements."""
    target = folder / f"synthetic-{documents}"
    if not target.is_dir():
        aside = folder / f".{target.name}"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_write_archive, [(aside, number, documents // ARCHIVES) for number in range(ARCHIVES)]))
        aside.rename(target)  # whole, or not there
    return target


def write_profiles(folder: Path, counts: tuple[int, ...], usual: int | None = None) -> list[Path]:
    """Returns a file of so many profiles for each count, each the beginning of the next.

    Nine paths for each twig with a value test: so a document satisfies about 32 of 100,000. Behind the first `usual`
    are paths as long as documents are deep, without wildcards: a document satisfies one of 2,000,000.
    """
    schema = Schema(SEED)
    paths = schema.paths(step=Step(0.05, 0.05))
    twigs = schema.twigs(valued=1.0, step=Step(0.02, 0.02))
    rare = schema.paths(seed=1, step=Step(0, 0), shortest=schema.shape.depth)
    xpaths = [
        next(rare if usual is not None and number >= usual else twigs if number % 10 == 0 else paths)
        for number in range(max(counts))
    ]
    folder.mkdir(parents=True, exist_ok=True)
    of = "" if usual is None else f"-of-{usual}"
    files = [folder / f"profiles-{count}{of}.jsonl" for count in counts]
    for file, count in zip(files, counts, strict=True):
        with file.open("w") as out:
            for number, xpath in enumerate(xpaths[:count]):
                row = {"profile_id": f"p{number}", "xpath": xpath, "subscriber": f"s{number % 1000}"}
                out.write(json.dumps(row | {"destination": f"d{number % 20}"}) + "\n")
    return files


def _write_archive(job: tuple[Path, int, int]) -> None:
    target, number, count = job
    made = Schema(SEED).documents(count, seed=number)
    write_tar(target / f"part-{number}.tar.gz", ((f"{k:06d}.xml", text.decode()) for k, text in enumerate(made)))
