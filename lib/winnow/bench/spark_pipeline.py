"""What do the pipeline's jobs take beside the least that any Spark job with these answers takes?

The floor is one `mapInArrow` in the same session that parses the same documents with libxml2 and emits as many match
rows of the same width, from values that are there already, written to Delta with the properties of `matches`.
"""

import datetime as dt
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.bench.pipeline import DATE, FEW, _inputs, _profiles
from winnow.tables import Lake, Tables, Transaction, contract

if TYPE_CHECKING:
    import pyarrow as pa


def run(folder: Path, *, documents: int, profiles: int, added: int, master: str) -> dict[str, Any]:
    from winnow.jobs import ingest_documents, ingest_profiles
    from winnow.jobs import run as pipeline
    from winnow.tables.session import open_session

    inputs = _inputs(folder, documents)
    place = folder / "lake-spark-pipeline"
    shutil.rmtree(place, ignore_errors=True)
    lake = Lake(str(place))
    first, few, more = _profiles(folder, (profiles, profiles + FEW, profiles + FEW + added))
    began = time.perf_counter()
    spark = open_session(master=master)
    result: dict[str, Any] = {"session_seconds": time.perf_counter() - began, "master": master}

    def timed(work: Any) -> tuple[float, Any]:
        start = time.perf_counter()
        found = work()
        return time.perf_counter() - start, found

    config = ingest_documents.Config(lake=lake, paths=(str(inputs),), date=DATE)
    result["ingest_documents_seconds"], report = timed(lambda: ingest_documents.run(spark, config))
    result["documents"] = report.counts["stored"]
    asked = ingest_profiles.Config(lake=lake, file=str(first))
    result["ingest_profiles_seconds"], _ = timed(lambda: ingest_profiles.run(spark, asked))

    def all_jobs(**options: Any) -> dict[str, Any]:
        run_id = pipeline.new_run_id("bench")
        config = pipeline.Config(lake=lake, dates=(DATE,), run_id=run_id, **options)
        started = time.perf_counter()
        jobs: dict[str, Any] = {}
        for report in pipeline.run(spark, config):
            now = time.perf_counter()
            jobs[report.job] = {
                "seconds": now - started,
                **report.counts,
                **{f"s {k}": v for k, v in report.seconds.items()},
            }
            started = now
        return jobs

    seconds, jobs = timed(all_jobs)
    counted = sum(
        jobs[job]["seconds"] for job in ("encode_documents", "join_paths", "match_documents", "publish_matches")
    )
    rows = jobs["match_documents"]["matches"] / result["documents"]
    result |= {"run": {"seconds": seconds, "without_profiles_and_index": counted, **jobs}, "matches_per_document": rows}
    tables = lake.open(spark)
    floors = [timed(lambda number=number: _floor(tables, round(rows), number))[0] for number in range(2)]
    result |= {"floor_seconds": floors, "times_the_floor": counted / min(floors)}
    for name, file in (("first_backfill", few), ("backfill", more)):
        ingest_profiles.run(spark, ingest_profiles.Config(lake=lake, file=str(file)))
        backfill, jobs = timed(all_jobs)
        result[name] = {"seconds": backfill, **jobs}
    again, jobs = timed(lambda: all_jobs(full=True))
    result["asking_all_again"] = {"seconds": again, **jobs}
    return result


def _floor(tables: Tables, rows: int, number: int) -> None:
    documents = tables.read("documents").select("document_id", "content")
    tables.create("matches")
    target = Lake(f"{tables.lake.location}/floor-{number}").open(tables.spark)
    target.append("matches", documents.mapInArrow(_Emit(rows), contract("matches").row_type), Transaction("floor"))


class _Emit:
    """Parses each document and emits rows that were made before."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        from winnow.parsing import parse

        made = None
        for batch in batches:
            for content in batch.column(1).to_pylist():
                parse(content)
            if made is None or made.num_rows != self._rows * batch.num_rows:
                made = _rows(self._rows * batch.num_rows)
            yield pa.RecordBatch.from_arrays(made.columns, schema=made.schema)


def _rows(count: int) -> "pa.RecordBatch":
    import pyarrow as pa

    numbers = range(count)
    columns = {
        "document_id": pa.array([f"{k // 32:064x}" for k in numbers]),
        "source": pa.array([f"/landing/2026-11-16/part-{k // 32 % 10}.tar.gz!{k // 32:06d}.xml" for k in numbers]),
        "profile_id": pa.array([f"p{k * 7919 % 100000}" for k in numbers]),
        "profile_version": pa.array([1] * count, pa.int32()),
        "subscriber": pa.array([f"s{k % 1000}" for k in numbers]),
        "destination": pa.array([f"d{k % 20}" for k in numbers]),
        "witness": pa.array([f"/n1/n{k % 7}[1]/n{k % 31}[{k % 3 + 1}]/n{k % 11}[1]" for k in numbers]),
        "run_id": pa.array(["bench"] * count),
        "match_date": pa.array([dt.date(2026, 11, 16)] * count),
    }
    return pa.RecordBatch.from_pydict(columns)
