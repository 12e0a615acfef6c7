"""What does a date cost beside the floor (`winnow.bench.floor`), and beside one-thread parsing? And a backfill?

Documents and profiles are of one synthetic schema. Encode, join, match, stage and publish are compared; ingest,
profiles and the index are stated apart. One session does it all, and its first use of everything is in it.
"""

import datetime as dt
import resource
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.bench.floor import write_floor
from winnow.bench.parsing import parse_all
from winnow.bench.processes import ProcessWatch
from winnow.bench.small_date import measure_small_dates
from winnow.bench.synthetic_inputs import write_documents, write_profiles
from winnow.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATE = dt.date(2026, 11, 16)
COMPARED = ("encode_documents", "join_paths", "match_documents", "publish_matches")
FEW = 100  # profiles of the first backfill: what a session loads once is paid for there, as for a run in the run
FLOORS = 2  # of which the lower one counts: the other may pay for what is loaded once


def run(
    folder: Path, *, documents: int, profiles: int, added: int, master: str, usual: int | None = None
) -> dict[str, Any]:
    from winnow.jobs import ingest_documents, ingest_profiles
    from winnow.jobs import run as pipeline
    from winnow.query.stored_tables import table_states
    from winnow.tables.session import open_session

    inputs = write_documents(folder, documents)
    place = (folder / "lake-pipeline").absolute()
    shutil.rmtree(place, ignore_errors=True)
    lake = Lake(str(place))
    first, few, more = write_profiles(folder, (profiles, profiles + FEW, profiles + FEW + added), usual)
    parsing = parse_all(inputs)
    seconds, spark = _timed(lambda: open_session(master=master))
    result: dict[str, Any] = {"session_seconds": seconds, "master": master, "profiles": profiles}
    processes = ProcessWatch()
    config = ingest_documents.Config(lake=lake, paths=(str(inputs),), date=DATE)
    result["ingest_documents_seconds"], report = _timed(lambda: ingest_documents.run(spark, config))
    result |= {"documents": report.counts["stored"], "megabytes": parsing.bytes / 1e6}

    def declare(file: Path) -> float:
        return _timed(lambda: ingest_profiles.run(spark, ingest_profiles.Config(lake=lake, file=str(file))))[0]

    def ask(full: bool = False) -> dict[str, Any]:
        jobs: dict[str, Any] = {}
        processes.take()
        asked = pipeline.Config(lake=lake, dates=(DATE,), run_id=pipeline.new_run_id("bench"), full=full)
        began = started = time.perf_counter()
        for report in pipeline.run(spark, asked):
            stages = {f"seconds: {name}": value for name, value in report.seconds.items()}
            jobs[report.job] = {"seconds": time.perf_counter() - started, **processes.take(), **report.counts, **stages}
            started = time.perf_counter()
        return {"run_id": asked.run_id, "seconds": time.perf_counter() - began, **jobs}

    result["ingest_profiles_seconds"] = declare(first)
    jobs = ask()
    compared = sum(jobs[job]["seconds"] for job in COMPARED)
    rows = jobs["match_documents"]["matches"] / result["documents"]
    tables = lake.open(spark)
    floors = [_timed(lambda number=number: write_floor(tables, round(rows), number))[0] for number in range(FLOORS)]  # type: ignore[misc]
    result |= {
        "tables_megabytes": {state.table: state.size_bytes / 1e6 for state in table_states(lake)},
        "index_partitions": tables.read("index_partitions").select("partition").distinct().count(),
        "run": jobs,
        "matches_per_document": rows,
        "compared_seconds": compared,
        "floor_seconds": min(floors),
        "times_the_floor": compared / min(floors),
        "lxml_parse_seconds": parsing.seconds,
        "times_parsing": compared / parsing.seconds,
    }
    result["audit"] = {name: _audit(spark, lake, jobs["run_id"]) for name in ("first", "warm")}
    for name, file, new in (("first_backfill", few, FEW), ("backfill", more, added)):
        declare(file)
        result[name] = {"profiles": new, **ask()}
    result["asking_all_again"] = ask(full=True)
    result["small_date"] = measure_small_dates(spark, lake, folder, DATE + dt.timedelta(days=1))
    processes.close()
    result["client_peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    result["backfill_is_faster_by"] = result["asking_all_again"]["seconds"] / result["backfill"]["seconds"]
    return result


def _audit(spark: "SparkSession", lake: Lake, run_id: str) -> dict[str, float]:
    from winnow.jobs import audit_matches

    config = audit_matches.Config(lake=lake, date=DATE, run_id=run_id)
    seconds, report = _timed(lambda: audit_matches.run(spark, config))
    return {"seconds": seconds, **report.seconds}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value
