"""Write rows of matches as CSV, JSONL or Parquet, chunk by chunk; the file appears under its name only when whole."""

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from winnow.errors import UsageError

Columns = dict[str, str]  # names and Arrow types
MATCHES: Columns = {"document": "string", "profile_id": "string", "witness": "string"}
DELIVERIES: Columns = {"document": "string", "destination": "string", "profiles": "int64"}
Write = Callable[[Sequence[tuple[Any, ...]]], None]


@contextmanager
def open_output(name: str, columns: Columns = MATCHES, *, as_json: bool = False) -> Iterator[Write]:
    """A function that takes chunks of rows with these columns; `as_json` is about stdout."""
    if name == "-":
        yield _jsonl(sys.stdout, columns) if as_json else _csv(sys.stdout, columns)
        return
    target = Path(name)
    if target.suffix not in {".csv", ".jsonl", ".parquet"}:
        raise UsageError("unknown_format", f"{name} is neither .csv, .jsonl nor .parquet", hint="- is CSV on stdout")
    if not target.parent.is_dir():
        raise UsageError("no_folder", f"there is no folder {target.parent}")
    partial = target.with_name(f".{target.name}.partial")
    try:
        if target.suffix == ".parquet":
            yield from _parquet(partial, columns)
        else:
            with partial.open("w", newline="", encoding="utf-8") as stream:
                yield _csv(stream, columns) if target.suffix == ".csv" else _jsonl(stream, columns)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _csv(stream: Any, columns: Columns) -> Write:
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    return writer.writerows


def _jsonl(stream: Any, columns: Columns) -> Write:
    def write(rows: Sequence[tuple[Any, ...]]) -> None:
        stream.writelines(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n" for row in rows)

    return write


def _parquet(path: Path, columns: Columns) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.type_for_alias(alias)) for name, alias in columns.items()])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:

        def write(rows: Sequence[tuple[Any, ...]]) -> None:
            arrays = [
                pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), schema.types, strict=True)
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))

        yield write
