"""Ask the result tables, without a JVM: DuckDB over the same Delta files that Spark, Polars and delta-rs read.

Nothing can be written through here. A connection opens the data files of the tables and no other file, loads no
extension, sees no variable of this program, and keeps its settings; `require_select` decides what SQL it is given.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import deltalake
import duckdb
import pyarrow as pa

from winnow.errors import UsageError
from winnow.lake.contracts import table_names
from winnow.lake.handles import data_files
from winnow.lake.parts import missing_files
from winnow.lake.sql import list_of, open_database, register
from winnow.lake.store import location, open_table, require_table
from winnow.pipeline.select_statement import bad_sql, require_select

FILTERS = {
    "document": "document_id",
    "source": "source",
    "profile": "profile_id",
    "subscriber": "subscriber",
    "destination": "destination",
    "date": "match_date",
}
BATCH_ROWS = 1000  # that are in memory at once; a document may have megabytes


def connect(lake: str, versions: Mapping[str, int] | None = None) -> duckdb.DuckDBPyConnection:
    """A connection in which every table of the lake is a view, at its newest version or at one of `versions`."""
    database = open_database(
        python_enable_replacements=False, autoload_known_extensions=False, max_temp_directory_size="20GB"
    )
    files: list[str] = []
    for name in table_names():
        version = (versions or {}).get(name)
        table = open_table(lake, name) if version is None else _at(lake, name, version)
        if table is not None:
            files += register(database, name, table)
    database.execute(f"SET allowed_paths = {list_of(files)}")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def matches(
    lake: str, wanted: Mapping[str, Any], *, version: int | None = None, limit: int = 0
) -> pa.RecordBatchReader:
    """Published matches that fit all of `wanted` (keys of FILTERS), in a stable order."""
    require_table(lake, "matches")
    chosen = {FILTERS[name]: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{column} = ${column}" for column in chosen) or "true"
    query = f"SELECT * FROM matches WHERE {where} ORDER BY match_date, document_id, profile_id"
    query += f" LIMIT {int(limit)}" if limit else ""
    database = connect(lake, {"matches": version} if version is not None else None)
    return _stream(database, lambda: database.execute(query, chosen))


def sql(lake: str, text: str, *, version: int | None = None, limit: int = 0) -> pa.RecordBatchReader:
    """The answer to one SELECT over the tables, or its first `limit` rows."""
    database = connect(lake, {"matches": version} if version is not None else None)
    statement = require_select(database, text)
    return _stream(database, lambda: database.execute(statement), limit)


def _stream(
    database: duckdb.DuckDBPyConnection, execute: Callable[[], duckdb.DuckDBPyConnection], limit: int = 0
) -> pa.RecordBatchReader:
    """Rows are made as they are read, by a thread of their own: a ^C is heard only where Python waits, not Arrow."""
    worker = ThreadPoolExecutor(1)

    def wait_for(step: Callable[[], Any]) -> Any:
        try:
            return worker.submit(step).result()
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise bad_sql(error) from error
        except KeyboardInterrupt:
            database.interrupt()
            raise

    rows = wait_for(lambda: execute().to_arrow_reader(BATCH_ROWS))

    def batches() -> Iterator[pa.RecordBatch]:
        left = limit or sys.maxsize
        try:
            while left > 0 and (batch := wait_for(lambda: next(rows, None))) is not None:
                yield batch.slice(0, left)
                left -= batch.num_rows
        finally:
            database.interrupt()

    return pa.RecordBatchReader.from_batches(rows.schema, batches())


def _at(lake: str, name: str, version: int) -> deltalake.DeltaTable:
    try:
        table = deltalake.DeltaTable(location(lake, name), version=version)
    except deltalake.exceptions.DeltaError as error:
        raise UsageError("no_such_version", f"{name} has no version {version}: {error}") from error
    if missing_files(data_files(table)):
        raise UsageError(
            "version_removed",
            f"version {version} of {name} cannot be read any more: VACUUM has removed files of it",
            hint="`winnow maintain --retention-hours` says how long they are kept",
        )
    return table
