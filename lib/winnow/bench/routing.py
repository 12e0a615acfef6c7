"""BoXFilter in the pipeline: what share of all pairs is routed, and what a date takes beside the default engine.

Documents and profiles are those of BoXFilter's Figure 9, of 20 DTDs and of one. Profiles are cut into about
`PARTITIONS` partitions, or into fewer where there are fewer labels to cut between. Each engine asks everything twice in
one session; the second time counts.
"""

import datetime as dt
import json
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.generate.sample import write_tar
from winnow.reproduce import sweeps
from winnow.reproduce.workload import Prepared, Workload, prepare
from winnow.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATE = dt.date(2026, 11, 16)
PARTITIONS = 64
ENGINES = ("boxpath", "b-boxfilter", "boxfilter")
WORKLOADS = {"20 DTDs": ("all",), "one DTD": ("news",)}
DEFAULT = "boxpath"


def run(folder: Path, *, documents: int, profiles: int, master: str) -> dict[str, Any]:
    from winnow.tables.session import open_session

    spark = open_session(master=master)
    base = next(iter(sweeps.documents("full").values()))._replace(documents=documents, profiles=profiles)
    return {
        name: _measure(spark, folder / f"lake-routing-{number}", base._replace(dtds=dtds))
        for number, (name, dtds) in enumerate(WORKLOADS.items())
    }


def _measure(spark: "SparkSession", place: Path, workload: Workload) -> dict[str, Any]:
    """Raises AssertionError where engines publish different numbers of matches."""
    lake = _lake(spark, place.absolute(), prepare(workload))
    told: dict[str, Any] = {engine: _ask(spark, lake, engine, workload) for engine in ENGINES}
    if len({row["matches"] for row in told.values()}) != 1:
        raise AssertionError(f"engines disagree: { ({engine: row['matches'] for engine, row in told.items()}) }")
    for engine in ENGINES[1:]:
        told[engine]["times_the_default_engine"] = told[engine]["seconds"] / told[DEFAULT]["seconds"]
    return told


def _lake(spark: "SparkSession", place: Path, prepared: Prepared) -> Lake:
    """A new lake with these documents and profiles."""
    from winnow.jobs import ingest_documents, ingest_profiles

    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    write_tar(place / "documents.tar.gz", ((f"{k}.xml", text.decode()) for k, text in enumerate(prepared.contents)))
    rows = (
        {"profile_id": str(k), "xpath": made.xpath, "namespaces": dict(made.namespaces)}
        for k, made in enumerate(prepared.profiles)
    )
    (place / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lake = Lake(str(place / "lake"))
    config = ingest_documents.Config(lake=lake, paths=(str(place / "documents.tar.gz"),), date=DATE)
    ingest_documents.run(spark, config)
    ingest_profiles.run(spark, ingest_profiles.Config(lake=lake, file=str(place / "profiles.jsonl")))
    return lake


def _ask(spark: "SparkSession", lake: Lake, engine: str, workload: Workload) -> dict[str, Any]:
    """Counts, and the seconds of all jobs and of `match_documents` alone."""
    from winnow.jobs import build_index
    from winnow.jobs import run as pipeline

    partition = build_index.PARTITION_BRANCHES if engine == DEFAULT else workload.profiles // PARTITIONS
    for name in ("first", "second"):
        start = time.perf_counter()
        config = pipeline.Config(
            lake=lake,
            dates=(DATE,),
            run_id=pipeline.new_run_id(name),
            engine=engine,
            full=True,
            partition=partition,
        )
        reports = {report.job: report for report in pipeline.run(spark, config)}
        seconds = time.perf_counter() - start
    matched = reports["match_documents"]
    counts = {name.replace(" ", "_"): value for name, value in matched.counts.items()}
    pairs = counts["documents"] * counts["profiles_asked"]
    return {
        "seconds": seconds,
        "matching_seconds": sum(matched.seconds.values()),
        "routed_share": counts["pairs_routed"] / pairs,
        **counts,
    }
