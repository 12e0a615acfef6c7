"""How much slower is ingest into Delta than libxml2 alone parsing the same bytes in one thread?"""

import datetime as dt
import resource
import shutil
import time
from pathlib import Path
from typing import Any

from winnow.bench.parsing import parse_all
from winnow.generate.sample import make, write_tar
from winnow.tables.lake import Lake

DATE = dt.date(2026, 11, 16)
ARCHIVES = 10


def run(folder: Path, *, documents: int, singles: int, master: str) -> dict[str, Any]:
    """Ingests `documents` in ten .tar.gz, and `singles` single files, beside one-thread parsing of the same bytes."""
    from winnow.jobs import ingest_documents
    from winnow.tables.session import open_session

    archives, files = _inputs(folder, documents, singles)
    start = time.perf_counter()
    spark = open_session(master=master)
    result: dict[str, Any] = {"session_seconds": time.perf_counter() - start, "master": master}
    for name, path in (("archives", archives), ("single_files", files)):
        place = folder / f"lake-{name}"
        shutil.rmtree(place, ignore_errors=True)
        config = ingest_documents.Config(lake=Lake(str(place.absolute())), paths=(str(path),), date=DATE)
        start = time.perf_counter()
        report = ingest_documents.run(spark, config)
        seconds = time.perf_counter() - start
        parsing = parse_all(path)
        result[name] = {
            "documents": parsing.documents,
            "megabytes": parsing.bytes / 1e6,
            "lxml_parse_seconds": parsing.seconds,
            "ingest_seconds": seconds,
            "ratio": seconds / parsing.seconds,
            "stages": report.seconds,
            "stored": report.counts["stored"],
        }
    result["driver_python_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return result


def _inputs(folder: Path, documents: int, singles: int) -> tuple[Path, Path]:
    archives, files = folder / f"archives-{documents}", folder / f"files-{singles}"
    if not archives.is_dir():
        archives.mkdir(parents=True)
        for number in range(ARCHIVES):
            write_tar(archives / f"news-{number}.tar.gz", make("news", documents // ARCHIVES, 100 + number))
    if not files.is_dir():
        files.mkdir(parents=True)
        for name, text in make("news", singles, 99):
            (files / name).write_bytes(text.encode())
    return archives, files
