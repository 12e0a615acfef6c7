"""SQL over Arrow tables in memory and Delta tables, by DuckDB: one database for the process, 20 ms to open."""

import tempfile
import uuid
from functools import cache
from typing import Any

import deltalake
import duckdb
import pyarrow as pa

from winnow.lake.handles import data_files
from winnow.lake.parts import parquet

_MEMORY = "2GB"  # more goes to temporary files
_TYPES = {"date": "DATE", "string": "VARCHAR", "integer": "INTEGER"}  # of partition columns


def sql(query: str, parameters: Any = None, /, **tables: Any) -> pa.Table:
    """The answer to a question about these tables, datasets, Delta tables or data files (at least one), by their names.

    >>> sql("SELECT a + $1 AS b FROM rows", [1], rows=pa.table({"a": [1, 2]})).column("b").to_pylist()
    [2, 3]
    """
    with _database().cursor() as connection:
        for name, table in tables.items():
            if isinstance(table, deltalake.DeltaTable):
                register(connection, name, table)
            elif isinstance(table, list):
                register_files(connection, name, table)
            else:
                connection.register(name, table)
        return connection.execute(query, parameters).to_arrow_table()


def register(connection: duckdb.DuckDBPyConnection, name: str, table: deltalake.DeltaTable) -> list[str]:
    """The table's own data files, read by DuckDB itself where they are local: its filters then reach the files.

    Returns the files that DuckDB opens.
    """
    files = data_files(table)
    if not files or not _is_plain(files[0]):
        connection.register(name, table.to_pyarrow_dataset())
        return []
    fields = {field.name: str(field.type.type) for field in table.schema().fields if hasattr(field.type, "type")}
    hive = ", ".join(f"'{column}': {_TYPES[fields[column]]}" for column in table.metadata().partition_columns)
    options = f", hive_partitioning = true, hive_types = {{{hive}}}" if hive else ""
    columns = ", ".join(f'"{field.name}"' for field in table.schema().fields)
    connection.execute(f'CREATE TEMP VIEW "{name}" AS SELECT {columns} FROM {_parquet(files, options)}')
    return files


def register_files(connection: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> None:
    """Some data files, at least one, without partition columns."""
    if _is_plain(files[0]):
        connection.execute(f'CREATE TEMP VIEW "{name}" AS SELECT * FROM {_parquet(files)}')
    else:
        connection.register(name, parquet(files))


def _is_plain(file: str) -> bool:
    """DuckDB reads it under just this name, not as a pattern."""
    return "://" not in file and not set("*?[") & set(file)


def _parquet(files: list[str], options: str = "") -> str:
    return f"read_parquet({list_of(files)}{options or ', hive_partitioning = false'})"


def list_of(texts: list[str]) -> str:
    """A list of strings as SQL writes it.

    >>> list_of(["a", "it's"])
    "['a', 'it''s']"
    """
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


def open_database(**settings: str | int) -> duckdb.DuckDBPyConnection:
    """An empty database in memory. What it spills goes to a folder that only it uses, and removes: DuckDB gives these
    files the same names in every process, so two that share a folder overwrite each other's rows.
    """
    folder = f"{tempfile.gettempdir()}/winnow-{uuid.uuid4()}"
    return duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": folder, **settings})


_database = cache(open_database)
