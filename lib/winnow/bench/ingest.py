"""How much slower is ingest into Delta than libxml2 alone parsing the same bytes in one thread?"""

import datetime as dt
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from winnow.generate.sample import make, write_tar
from winnow.ingest.read import read_file
from winnow.ingest.sources import list_files
from winnow.parsing import parse

DATE = dt.date(2026, 11, 16)
ARCHIVES = 10


def run(folder: Path, *, documents: int, singles: int, master: str) -> dict[str, Any]:
    """Ingest `documents` in ten .tar.gz, and `singles` single files, beside one-thread parsing of the same bytes."""
    from winnow.tables.session import open_session
    from winnow.pipeline import ingest_documents

    archives, files = _inputs(folder, documents, singles)
    start = time.perf_counter()
    spark = open_session(master=master)
    session = time.perf_counter() - start
    result: dict[str, Any] = {"session_seconds": round(session, 2), "master": master}
    for name, path in (("archives", archives), ("single_files", files)):
        lake = folder / f"lake-{name}"
        shutil.rmtree(lake, ignore_errors=True)
        config = ingest_documents.Config(lake=str(lake), paths=(str(path),), date=DATE)
        report, seconds = _timed(lambda config=config: ingest_documents.run(spark, config))  # type: ignore[misc]
        (count, size), floor = _timed_parse(path)
        result[name] = {
            "documents": count,
            "megabytes": round(size / 1e6, 1),
            "lxml_parse_seconds": round(floor, 2),
            "ingest_seconds": round(seconds, 2),
            "ratio": round(seconds / floor, 2),
            "stages": {stage: round(value, 2) for stage, value in report.seconds.items()},
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


def _contents(path: Path) -> Iterator[bytes]:
    for file in list_files([str(path)]):
        for item in read_file(file, record_tag=None, max_bytes=1 << 24):
            yield item.content


def _timed_parse(path: Path) -> tuple[tuple[int, int], float]:
    """(documents, bytes) and the seconds libxml2 alone takes: reading and unpacking are not counted."""
    count = size = 0
    seconds = 0.0
    for content in _contents(path):
        start = time.perf_counter()
        parse(content)
        seconds += time.perf_counter() - start
        count += 1
        size += len(content)
    return (count, size), seconds


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    value = work()
    return value, time.perf_counter() - start
