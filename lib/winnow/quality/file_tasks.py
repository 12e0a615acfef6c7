"""What workers do to look at the data files of tables themselves: which there should be, and whether they are whole.

Delta's log says how large each file is and how many rows it has; Spark believes it, and does not compare the checksums
that Parquet pages carry. So a file that was cut off, exchanged or hit by a flipped bit is read as if nothing were.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.tables.filesystems import filesystem_of

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(\.\d{10}\.\d{10})?\.parquet")
LISTED = pa.schema([("table", pa.string()), ("file", pa.string()), ("size", pa.int64()), ("rows", pa.int64())])
PROBLEMS = pa.schema([("table", pa.string()), ("file", pa.string()), ("problem", pa.string())])


class Added(NamedTuple):
    """A file as the log adds it."""

    path: str
    size: int
    partition: Mapping[str, str]
    rows: int | None


def list_files(batches: Iterable[pa.RecordBatch], options: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Returns the files of tables at versions, each table given by name, location, version and partition as JSON."""
    for batch in batches:
        for table in batch.to_pylist():
            wanted = json.loads(table["partition"])
            files = [
                file
                for file in log_files(table["location"], table["version"], options)
                if all(file.partition.get(name) == value for name, value in wanted.items())
            ]
            columns = (
                [table["name"]] * len(files),
                [_uri(table["location"], file.path) for file in files],
                [file.size for file in files],
                [file.rows for file in files],
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array(c, f.type) for c, f in zip(columns, LISTED, strict=True)], schema=LISTED
            )


def log_files(location: str, version: int, options: Mapping[str, Any]) -> list[Added]:
    """Returns the files of a table at a version: the newest checkpoint up to it, and the commits behind that."""
    import pyarrow.fs as pafs

    filesystem, folder = filesystem_of(location, options)
    names = [info.base_name for info in filesystem.get_file_info(pafs.FileSelector(f"{folder}/_delta_log"))]
    checkpoints = {
        int(found[1]) for name in names if (found := _CHECKPOINT.fullmatch(name)) and int(found[1]) <= version
    }
    base = max(checkpoints, default=-1)
    files: dict[str, Added] = {}
    for name in names:
        if (found := _CHECKPOINT.fullmatch(name)) and int(found[1]) == base:
            with filesystem.open_input_file(f"{folder}/_delta_log/{name}") as stream:
                rows = pq.ParquetFile(stream).read(columns=["add"]).column("add").to_pylist()
            files |= {row["path"]: _added(row) for row in rows if row}
    commits = sorted(name for name in names if (found := _COMMIT.fullmatch(name)) and base < int(found[1]) <= version)
    for name in commits:
        with filesystem.open_input_stream(f"{folder}/_delta_log/{name}") as stream:
            actions = [json.loads(line) for line in stream.read().decode().splitlines() if line]
        for action in actions:
            if "remove" in action:
                files.pop(action["remove"]["path"], None)
        files |= {action["add"]["path"]: _added(action["add"]) for action in actions if "add" in action}
    return list(files.values())


def _added(row: Mapping[str, Any]) -> Added:
    stats = json.loads(row["stats"]) if row.get("stats") else {}
    return Added(row["path"], row["size"], dict(row["partitionValues"]), stats.get("numRecords"))


def _uri(location: str, path: str) -> str:
    path = unquote(path)
    return path if "://" in path or path.startswith(("/", "file:")) else f"{location.rstrip('/')}/{path}"


def check_files(
    batches: Iterable[pa.RecordBatch], required: Mapping[str, frozenset[str]], options: Mapping[str, Any]
) -> Iterator[pa.RecordBatch]:
    """Returns what is wrong with files; `required` has, for each table, the columns that hold no null."""
    for batch in batches:
        rows = [
            (file["table"], file["file"], problem)
            for file in batch.to_pylist()
            for problem in file_problems(file["file"], file["size"], file["rows"], required[file["table"]], options)
        ]
        columns = list(zip(*rows, strict=True)) or [(), (), ()]
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], schema=PROBLEMS)


def file_problems(
    uri: str, size: int, rows: int | None, required: frozenset[str], options: Mapping[str, Any]
) -> Iterator[str]:
    """Yields what is wrong with a file: its size, its rows, a page whose checksum does not hold, a null."""
    folder, _, name = uri.rpartition("/")
    filesystem, place = filesystem_of(folder.removeprefix("file:") if folder.startswith("file:/") else folder, options)
    (info,) = filesystem.get_file_info([f"{place}/{name}"])
    if not info.is_file:
        yield "is missing"
        return
    if info.size != size:
        yield f"has {info.size} bytes, the log says {size}"
    try:
        with filesystem.open_input_file(f"{place}/{name}") as stream:
            yield from _content_problems(pq.ParquetFile(stream, page_checksum_verification=True), rows, required)
    except (OSError, pa.ArrowException) as error:
        yield f"cannot be read: {' '.join(str(error).split())}"


def _content_problems(file: pq.ParquetFile, rows: int | None, required: frozenset[str]) -> Iterator[str]:
    missing = sorted(required - set(file.schema_arrow.names))
    if missing:
        yield f"has no column {', '.join(missing)}"
    found, nulls = 0, dict.fromkeys(required - set(missing), 0)
    for group in range(file.metadata.num_row_groups):
        table = file.read_row_group(group)
        found += table.num_rows
        for name in nulls:
            nulls[name] += table.column(name).null_count
    if rows is not None and found != rows:
        yield f"has {found} rows, the log says {rows}"
    yield from (f"has {count} nulls in {name}" for name, count in sorted(nulls.items()) if count)
