"""Write rows of matches as CSV, JSONL or Parquet, chunk by chunk; the file appears under its name only when whole."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from winnow.errors import UsageError

COLUMNS = ("document", "profile_id", "witness")
Write = Callable[[Sequence[tuple[Any, ...]]], None]


@contextmanager
def open_output(name: str) -> Iterator[Write]:
    """A function that takes chunks of (document, profile_id, witness)."""
    if name == "-":
        yield _csv(sys.stdout)
        return
    target = Path(name)
    if target.suffix not in {".csv", ".jsonl", ".parquet"}:
        raise UsageError("unknown_format", f"{name} is neither .csv, .jsonl nor .parquet", hint="- is CSV on stdout")
    if not target.parent.is_dir():
        raise UsageError("no_folder", f"there is no folder {target.parent}")
    partial = target.with_name(f".{target.name}.partial")
    try:
        if target.suffix == ".parquet":
            yield from _parquet(partial)
        else:
            with partial.open("w", newline="", encoding="utf-8") as stream:
                yield _csv(stream) if target.suffix == ".csv" else _jsonl(stream)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _csv(stream: Any) -> Write:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    return writer.writerows


def _jsonl(stream: Any) -> Write:
    def write(rows: Sequence[tuple[Any, ...]]) -> None:
        stream.writelines(json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)

    return write


def _parquet(path: Path) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:

        def write(rows: Sequence[tuple[Any, ...]]) -> None:
            columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))

        yield write
