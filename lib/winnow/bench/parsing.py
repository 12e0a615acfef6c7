"""The seconds that libxml2 alone takes for documents, in one thread: what other times are compared with."""

import time
from pathlib import Path
from typing import NamedTuple

from winnow.ingest.read import read_file
from winnow.ingest.sources import list_files
from winnow.parsing import parse


class Parsing(NamedTuple):
    documents: int
    bytes: int
    seconds: float


def parse_all(path: Path) -> Parsing:
    """Parses all documents below a path; reading and unpacking are not counted."""
    count = size = 0
    seconds = 0.0
    for file in list_files([str(path)]):
        for item in read_file(file, record_tag=None, max_bytes=1 << 24):
            start = time.perf_counter()
            parse(item.content)
            seconds += time.perf_counter() - start
            count += 1
            size += len(item.content)
    return Parsing(count, size, seconds)
