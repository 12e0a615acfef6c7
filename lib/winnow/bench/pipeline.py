"""How much slower is the whole pipeline than libxml2 alone parsing the same bytes in one thread? And a backfill?

Documents and profiles are of one synthetic schema. The documents are ingested first, which is not counted: this
measures encode, index, join, match and publish, in one session.
"""

import datetime as dt
import json
import os
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from winnow.generate.sample import write_tar
from winnow.generate.synthetic import Schema, Step
from winnow.parsing import parse

DATE = dt.date(2026, 11, 16)
SEED = 7
ARCHIVES = 10
FEW = 100  # profiles of the first backfill: what a session loads once is paid for there, as for a run in the run


def run(folder: Path, *, documents: int, profiles: int, added: int, master: str) -> dict[str, Any]:
    from winnow.tables.session import open_session
    from winnow.pipeline import ingest_documents, ingest_profiles
    from winnow.pipeline import run as pipeline

    inputs = _inputs(folder, documents)
    lake = str(folder / "lake-pipeline")
    shutil.rmtree(lake, ignore_errors=True)
    first, few, more = _profiles(folder, (profiles, profiles + FEW, profiles + FEW + added))
    started = time.perf_counter()
    spark = open_session(master=master)
    result: dict[str, Any] = {"session_seconds": time.perf_counter() - started, "master": master}
    ingest_documents.run(spark, ingest_documents.Config(lake=lake, paths=(str(inputs),), date=DATE))
    ingest_profiles.run(ingest_profiles.Config(lake=lake, file=str(first)))
    count, size, parsing = _parse_all(lake)
    result |= {"documents": count, "megabytes": size / 1e6, "profiles": profiles, "lxml_parse_seconds": parsing}

    def timed(full: bool = False) -> tuple[float, dict[str, dict[str, float]]]:
        began = time.perf_counter()
        config = pipeline.Config(lake=lake, dates=(DATE,), run_id="bench", full=full)
        reports = {report.job: report for report in pipeline.run(spark, config)}
        stages = {job: {**report.seconds, **report.counts} for job, report in reports.items()}
        return time.perf_counter() - began, stages

    seconds, jobs = timed()
    result["run"] = {"seconds": seconds, "ratio": seconds / parsing, **jobs}
    result["matches_per_document"] = jobs["match_documents"]["matches"] / count
    for name, file, new in (("first_backfill", few, FEW), ("backfill", more, added)):
        ingest_profiles.run(ingest_profiles.Config(lake=lake, file=str(file)))
        backfill, jobs = timed()
        result[name] = {"profiles": new, "seconds": backfill, **jobs}
    again, jobs = timed(full=True)
    result["matching_again"] = {"seconds": again, **jobs}
    result["backfill_is_faster_by"] = again / backfill
    return result


def _profiles(folder: Path, counts: tuple[int, ...]) -> list[Path]:
    """A file of so many, each the beginning of the next.

    Nine paths for each twig with a value test: so a document satisfies about 20 of 100,000.
    """
    schema = Schema(SEED)
    paths = schema.paths(step=Step(0.05, 0.05))
    twigs = schema.twigs(valued=1.0, step=Step(0.02, 0.02))
    xpaths = [next(twigs if number % 10 == 0 else paths) for number in range(max(counts))]
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"profiles-{count}.jsonl" for count in counts]
    for file, count in zip(files, counts, strict=True):
        with file.open("w") as out:
            for number, xpath in enumerate(xpaths[:count]):
                row = {"profile_id": f"p{number}", "xpath": xpath, "subscriber": f"s{number % 1000}"}
                out.write(json.dumps(row | {"destination": f"d{number % 20}"}) + "\n")
    return files


def _inputs(folder: Path, documents: int) -> Path:
    target = folder / f"synthetic-{documents}"
    if not target.is_dir():
        target.mkdir(parents=True)
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(_archive, [(target, number, documents // ARCHIVES) for number in range(ARCHIVES)]))
    return target


def _archive(job: tuple[Path, int, int]) -> None:
    target, number, count = job
    made = Schema(SEED).documents(count, seed=number)
    write_tar(target / f"part-{number}.tar.gz", ((f"{k:06d}.xml", text.decode()) for k, text in enumerate(made)))


def _parse_all(lake: str) -> tuple[int, int, float]:
    """Documents, bytes, and the seconds that libxml2 alone takes for them; reading is not counted."""
    count = size = 0
    seconds = 0.0
    for file in sorted(Path(lake, "documents").glob("**/*.parquet")):
        for batch in pq.ParquetFile(file).iter_batches(1000, columns=["content"]):
            contents = batch.column(0).to_pylist()
            start = time.perf_counter()
            for content in contents:
                parse(content)
            seconds += time.perf_counter() - start
            count += len(contents)
            size += sum(map(len, contents))
    return count, size, seconds
