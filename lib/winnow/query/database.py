"""A DuckDB database in memory whose views are the tables of a lake. Nothing can be written through it.

A connection opens the data files of the tables and no other file, loads no extension, sees no variable of this program,
and keeps its settings; `winnow.query.select_statement` decides which SQL it is given.
"""

import tempfile
import uuid
from collections.abc import Mapping

import deltalake
import duckdb
import pyarrow.dataset as pads

from winnow.query.stored_tables import data_files, open_table, paths_of
from winnow.tables.contract import table_names
from winnow.tables.lake import Lake

MEMORY = "2GB"  # more goes to temporary files
_TYPES = {"date": "DATE", "string": "VARCHAR", "integer": "INTEGER"}  # of partition columns


def connect(lake: Lake, versions: Mapping[str, int] | None = None) -> duckdb.DuckDBPyConnection:
    """Returns a connection in which every table is a view, at its newest version or at one of `versions`."""
    database = open_database(
        python_enable_replacements=False, autoload_known_extensions=False, max_temp_directory_size="20GB"
    )
    files: list[str] = []
    for name in table_names():
        table = open_table(lake, name, version=(versions or {}).get(name))
        if table is not None:
            files += register(database, name, table)
    database.execute(f"SET allowed_paths = {list_of(files)}")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")
    return database


def open_database(**settings: str | int) -> duckdb.DuckDBPyConnection:
    """Returns an empty database. What it spills goes to a folder that only it uses, and removes: DuckDB gives these
    files the same names in every process, so two that share a folder overwrite each other's rows.
    """
    folder = f"{tempfile.gettempdir()}/winnow-{uuid.uuid4()}"
    return duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": folder, **settings})


def register(connection: duckdb.DuckDBPyConnection, name: str, table: deltalake.DeltaTable) -> list[str]:
    """Makes a table a view on its data files, which DuckDB reads itself where they are local: its filters then reach
    the files. Returns the files that DuckDB opens.
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


def register_files(connection: duckdb.DuckDBPyConnection, name: str, files: list[str], lake: Lake) -> None:
    """Makes some data files of a lake, at least one, a view without partition columns."""
    if _is_plain(files[0]):
        connection.execute(f'CREATE TEMP VIEW "{name}" AS SELECT * FROM {_parquet(files)}')
    else:
        filesystem, paths = paths_of(files, lake)
        connection.register(name, pads.dataset(paths, format="parquet", filesystem=filesystem))


def list_of(texts: list[str]) -> str:
    """Returns a list of strings as SQL writes it.

    >>> list_of(["a", "it's"])
    "['a', 'it''s']"
    """
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"


def _is_plain(file: str) -> bool:
    """DuckDB reads it under just this name, not as a pattern."""
    return "://" not in file and not set("*?[") & set(file)


def _parquet(files: list[str], options: str = "") -> str:
    return f"read_parquet({list_of(files)}{options or ', hive_partitioning = false'})"
