"""BoXFilter in the pipeline: what share of all pairs is routed, and what a date takes beside the default engine.

Documents and profiles are those of BoXFilter's Figure 9, of 20 DTDs and of one. The trees are those that a run would
build, then such of about `PARTITIONS` partitions, or of fewer where there are fewer labels to cut between. All is asked
twice in one session; the second time counts.
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
WORKLOADS = {"20 DTDs": ("all",), "one DTD": ("news",)}
DEFAULT, ROUTED = "boxpath", "b-boxfilter"


def run(folder: Path, *, documents: int, profiles: int, master: str) -> dict[str, Any]:
    from winnow.tables.session import open_session

    spark = open_session(master=master)
    base = next(iter(sweeps.documents("full").values()))._replace(documents=documents, profiles=profiles)
    return {
        name: _measure(spark, folder / f"lake-routing-{number}", base._replace(dtds=dtds))
        for number, (name, dtds) in enumerate(WORKLOADS.items())
    }


def _measure(spark: "SparkSession", place: Path, workload: Workload) -> dict[str, Any]:
    """One row for each engine and number of partitions.

    Raises:
        AssertionError: they have published different numbers of matches.
    """
    from winnow.jobs import build_sequence_trees

    lake = _lake(spark, place.absolute(), prepare(workload))
    told: dict[str, Any] = {DEFAULT: _ask(spark, lake, DEFAULT)}
    for partition in (build_sequence_trees.PARTITION_SEQUENCES, workload.profiles // PARTITIONS):
        config = build_sequence_trees.Config(lake=lake, run_id="bench", rebuild=True, partition=partition)
        partitions = build_sequence_trees.run(spark, config).counts["partitions"]
        row = _ask(spark, lake, ROUTED)
        row["times_the_default_engine"] = row["seconds"] / told[DEFAULT]["seconds"]
        told[f"{ROUTED}, {partitions} partitions"] = row
    if len({row["matches"] for row in told.values()}) != 1:
        raise AssertionError(f"engines disagree: { ({name: row['matches'] for name, row in told.items()}) }")
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


def _ask(spark: "SparkSession", lake: Lake, engine: str) -> dict[str, Any]:
    """Counts, and the seconds of all jobs and of `match_documents` alone."""
    from winnow.jobs import run as pipeline

    for name in ("first", "second"):
        start = time.perf_counter()
        run_id = pipeline.new_run_id(name)
        config = pipeline.Config(lake=lake, dates=(DATE,), run_id=run_id, engine=engine, full=True)
        reports = {report.job: report for report in pipeline.run(spark, config)}
        seconds = time.perf_counter() - start
    matched = reports["match_documents"]
    counts = {name.replace(" ", "_"): value for name, value in matched.counts.items()}
    return {
        "seconds": seconds,
        "matching_seconds": sum(matched.seconds.values()),
        "routed_share": counts["pairs_routed"] / (counts["documents"] * counts["profiles_asked"]),
        **counts,
    }
