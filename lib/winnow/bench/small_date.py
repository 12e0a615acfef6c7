"""What does a date with few new documents cost in an open session, and one with nothing new? Seconds and commits."""

import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from winnow.bench.synthetic_inputs import SEED
from winnow.generate.sample import write_tar
from winnow.generate.synthetic import Schema
from winnow.tables import Lake
from winnow.tables.contract import table_names

FEW = 50  # documents


def measure_small_dates(spark: SparkSession, lake: Lake, folder: Path, first: dt.date) -> dict[str, Any]:
    """Returns what two dates of few documents and a date with nothing new take; of the two the second is warm."""
    from winnow.jobs import ingest_documents
    from winnow.jobs import run as pipeline

    measured: dict[str, Any] = {}
    for number, name in enumerate(("first", "warm")):
        date = first + dt.timedelta(days=number)
        source = folder / f"few-{number}" / "documents.tar.gz"
        source.parent.mkdir(exist_ok=True)
        made = Schema(SEED).documents(FEW, seed=1000 + number)
        write_tar(source, ((f"{k:06d}.xml", text.decode()) for k, text in enumerate(made)))
        config = ingest_documents.Config(lake=lake, paths=(str(source.parent),), date=date)
        measured[f"ingest_{name}"] = _cost(spark, lake, lambda config=config: ingest_documents.run(spark, config))  # type: ignore[misc]
        measured[f"run_{name}"] = _cost(spark, lake, lambda date=date: _run(pipeline, spark, lake, date))  # type: ignore[misc]
    measured["run_nothing_new"] = _cost(spark, lake, lambda: _run(pipeline, spark, lake, date))
    return measured


def _run(pipeline: Any, spark: SparkSession, lake: Lake, date: dt.date) -> None:
    config = pipeline.Config(lake=lake, dates=(date,), run_id=pipeline.new_run_id("small"))
    list(pipeline.run(spark, config))


def _cost(spark: SparkSession, lake: Lake, work: Callable[[], object]) -> dict[str, Any]:
    before = _versions(spark, lake)
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    after = _versions(spark, lake)
    made = {name: version - before.get(name, -1) for name, version in after.items()}
    return {"seconds": seconds, "commits": sum(made.values()), "by_table": {k: v for k, v in made.items() if v}}


def _versions(spark: SparkSession, lake: Lake) -> dict[str, int]:
    tables = lake.open(spark)
    return {name: tables.version(name) for name in table_names() if tables.exists(name)}
