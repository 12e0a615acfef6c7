"""Write what is generated, one after the other: a folder, an archive, JSONL, CSV or Parquet.

Memory stays the same however much is written. A file appears under its name only when it is whole.
"""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.errors import UsageError
from winnow.generate.profiles import Made
from winnow.generate.sample import write_tar
from winnow.ingest.profiles import PROFILES

DOCUMENTS = pa.schema([("document", pa.string()), ("content", pa.binary())])
_ROWS = 2000  # of a row group, and files of one folder
_CSV = ("profile_id", "xpath", "namespaces", "subscriber", "destination")


def check_documents(target: Path) -> None:
    _check(target, (".tar.gz", ".tgz", ".parquet", ""), "a folder, .tar.gz or .parquet")


def check_profiles(target: Path) -> None:
    _check(target, (".jsonl", ".csv", ".jsonl.gz", ".csv.gz", ".parquet"), ".jsonl, .csv (.gz) or .parquet")


def write_documents(target: Path, documents: Iterable[tuple[str, bytes]]) -> None:
    """`documents` are (file name, bytes)."""
    if target.suffix == ".parquet":
        _write_parquet(target, DOCUMENTS, (list(pair) for pair in documents))
    elif target.suffix:
        with _whole(target) as partial:
            write_tar(partial, documents)
    else:
        for number, (name, content) in enumerate(documents):
            folder = target / f"{number // _ROWS:05d}"
            if number % _ROWS == 0:
                folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)


def profile_rows(profiles: Iterable[Made], *, subscribers: int) -> Iterator[dict[str, Any]]:
    """Rows that `winnow ingest profiles` takes. Subscribers take turns; ten of them share a destination."""
    for number, made in enumerate(profiles):
        who = number % subscribers
        row = {"profile_id": f"profile-{number:07d}", "xpath": made.xpath, "subscriber": f"subscriber-{who:05d}"}
        yield (
            row
            | {"destination": f"queue/{who // 10:04d}"}
            | ({"namespaces": dict(made.namespaces)} if made.namespaces else {})
        )


def write_profiles(target: Path, rows: Iterable[dict[str, Any]]) -> None:
    if target.suffix == ".parquet":
        _write_parquet(target, PROFILES, map(_columns, rows))
        return
    with _whole(target) as partial, _text(partial, zipped=target.suffix == ".gz") as stream:
        if ".csv" in target.suffixes:
            writer = csv.DictWriter(stream, _CSV, lineterminator="\n")
            writer.writeheader()
            for row in rows:
                bound = json.dumps(row["namespaces"]) if "namespaces" in row else ""
                writer.writerow(row | {"namespaces": bound})
        else:
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _columns(row: dict[str, Any]) -> list[Any]:
    full = row | {"namespaces": sorted(row.get("namespaces", {}).items()), "ordered": False}
    return [full.get(name) for name in PROFILES.names]


def _check(target: Path, allowed: tuple[str, ...], words: str) -> None:
    suffix = "".join(target.suffixes[-2:]) if target.suffix == ".gz" else target.suffix
    if suffix not in allowed:
        raise UsageError("unknown_format", f"{target.name} is not {words}", hint="the ending says how to write")
    if not target.parent.is_dir():
        raise UsageError("no_folder", f"there is no folder {target.parent}")
    if target.is_dir() != (not suffix) and target.exists():
        raise UsageError("not_written", f"{target} is there already, as something else", hint="give another name")
    if not suffix and target.is_dir() and any(target.iterdir()):
        raise UsageError("not_empty", f"{target} holds files", hint="old and new ones would be mixed: empty it")


@contextmanager
def _whole(target: Path) -> Iterator[Path]:
    partial = target.with_name(f".{target.name}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _text(path: Path, *, zipped: bool) -> Iterator[IO[str]]:
    """Without time and name in it: the same rows are the same bytes."""
    with ExitStack() as opened:
        raw: Any = opened.enter_context(path.open("wb"))
        if zipped:
            raw = opened.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0))
        yield opened.enter_context(io.TextIOWrapper(raw, "utf-8", newline=""))


def _write_parquet(target: Path, schema: pa.Schema, rows: Iterator[list[Any]]) -> None:
    with _whole(target) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        while group := list(islice(rows, _ROWS)):
            columns = zip(*group, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
