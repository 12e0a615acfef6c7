"""Published matches by what people ask for, and any SELECT over the tables of a lake."""

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import duckdb
import pyarrow as pa

from winnow.query.database import connect
from winnow.query.select_statement import bad_sql, require_select
from winnow.query.stored_tables import require_table
from winnow.tables.lake import Lake

FILTERS = {
    "document": "document_id",
    "source": "source",
    "profile": "profile_id",
    "subscriber": "subscriber",
    "destination": "destination",
    "date": "match_date",
}
BATCH_ROWS = 1000  # that are in memory at once; a document may have megabytes


def matches(
    lake: Lake, wanted: Mapping[str, Any], *, version: int | None = None, limit: int = 0
) -> pa.RecordBatchReader:
    """Published matches that fit all of `wanted` (keys of FILTERS), in a stable order."""
    require_table(lake, "matches")
    chosen = {FILTERS[name]: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{column} = ${column}" for column in chosen) or "true"
    query = f"SELECT * FROM matches WHERE {where} ORDER BY match_date, document_id, profile_id"
    query += f" LIMIT {int(limit)}" if limit else ""
    database = connect(lake, {"matches": version} if version is not None else None)
    return _stream(database, lambda: database.execute(query, chosen))


def sql(lake: Lake, text: str, *, version: int | None = None, limit: int = 0) -> pa.RecordBatchReader:
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
