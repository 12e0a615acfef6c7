"""The tables of a lake as delta-rs opens them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.fs as pafs
from deltalake.exceptions import TableNotFoundError

from winnow.errors import DataError, UsageError, one_line
from winnow.tables.contract import contract, contract_broken, simple_type, table_names
from winnow.tables.filesystems import filesystem_of
from winnow.tables.lake import Lake


class TableState(NamedTuple):
    table: str
    version: int
    rows: int
    files: int
    size_bytes: int


def place_of(lake: Lake, name: str) -> str | None:
    """Returns where delta-rs finds a table; None where a catalog has none of this name.

    Raises:
        UsageError: a session has not said where the tables of the catalog are.
    """
    if not lake.is_catalog:
        return f"{lake.location}/{name}"
    if lake.table_places is None:
        raise UsageError(
            "needs_session",
            f"{lake.location} is a schema of a catalog, and only a Spark session knows where its tables are",
            hint="give --master, or ask in a session of the catalog: spark.sql",
        )
    return lake.table_places.get(name)


def open_table(lake: Lake, name: str, *, version: int | None = None) -> deltalake.DeltaTable | None:
    """Returns the table, checked against its contract; None if there is none.

    Raises:
        DataError: it does not fit its contract.
        UsageError: it has no such version, VACUUM has removed files of it, or only a session can read it.
    """
    place = place_of(lake, name)
    if place is None:
        return None
    options = {key: str(value) for key, value in lake.storage_options.items()}
    try:
        table = deltalake.DeltaTable(place.replace("s3a://", "s3://", 1), storage_options=options or None)
    except TableNotFoundError:
        return None
    except (deltalake.exceptions.DeltaError, OSError) as error:
        if "://" not in place:
            raise
        hint = "set AWS_* or WINNOW_FILESYSTEM_OPTIONS, or ask in a Spark session, which has keys of its own"
        raise UsageError("cannot_read", f"{place} cannot be read: {one_line(error)}", hint=hint) from error
    _require_contract(table, name)
    if version is None:
        return table
    try:
        table.load_as_version(version)
    except deltalake.exceptions.DeltaError as error:
        raise UsageError("no_such_version", f"{name} has no version {version}: {error}") from error
    if missing_files(data_files(table), lake):
        raise UsageError(
            "version_removed",
            f"version {version} of {name} cannot be read any more: VACUUM has removed files of it",
            hint="`winnow maintain --retention-hours` says how long they are kept",
        )
    return table


def require_table(lake: Lake, name: str) -> deltalake.DeltaTable:
    """Returns the table.

    Raises:
        DataError: there is none.
    """
    table = open_table(lake, name)
    if table is None:
        raise DataError(
            "table_missing",
            f"there is no table {name} in the lake {lake.location}",
            hint="is --lake right? `winnow status` shows what is there",
        )
    return table


def table_states(lake: Lake) -> Iterator[TableState]:
    """Yields what the log says of each table that is there; no data is read."""
    for name in table_names():
        table = open_table(lake, name)
        if table is not None:
            actions = pa.table(table.get_add_actions(flatten=True))
            rows, sizes = (actions.column(column).to_pylist() for column in ("num_records", "size_bytes"))
            yield TableState(name, table.version(), sum(filter(None, rows)), actions.num_rows, sum(sizes))


def data_files(table: deltalake.DeltaTable, partition: Mapping[str, Any] | None = None) -> list[str]:
    """Returns the data files of a partition. Of local ones delta-rs quotes the table's folder, and only that."""
    wanted = [(name, "=", str(value)) for name, value in (partition or {}).items()]
    files = table.file_uris(file_pruning_predicate=wanted or None)
    folder = table.table_uri.removeprefix("file://")
    return [unquote(folder) + file.removeprefix(folder) if file.startswith(folder) else file for file in files]


def missing_files(files: list[str], lake: Lake) -> list[str]:
    """Returns those that are no longer there: VACUUM removes what only older versions name."""
    filesystem, paths = paths_of(files, lake)
    found = filesystem.get_file_info(paths)
    return [file for file, info in zip(files, found, strict=True) if info.type == pafs.FileType.NotFound]


def paths_of(files: list[str], lake: Lake) -> tuple[Any, list[str]]:
    """Returns the file system of data files, and their paths in it."""
    if not files or "://" not in files[0]:
        return pafs.LocalFileSystem(), files
    filesystem, first = filesystem_of(files[0], lake.filesystem_options)
    if files[0].endswith(first):
        start = len(files[0]) - len(first)  # the scheme
        return filesystem, [file[start:] for file in files]
    return filesystem, [filesystem_of(file, lake.filesystem_options)[1] for file in files]


def _require_contract(table: deltalake.DeltaTable, name: str) -> None:
    wanted = contract(name)
    actual = {field.name: _type_name(field.type) for field in table.schema().fields}
    problems = wanted.discrepancies(actual)
    if problems:
        raise contract_broken(wanted, f"table {table.table_uri}", problems, table.metadata().configuration)


def _type_name(kind: Any) -> str:
    if isinstance(kind, deltalake.schema.MapType):
        return f"map<{_type_name(kind.key_type)},{_type_name(kind.value_type)}>"
    if isinstance(kind, deltalake.schema.ArrayType):
        return f"array<{_type_name(kind.element_type)}>"
    if isinstance(kind, deltalake.schema.StructType):
        return f"struct<{','.join(f'{field.name}:{_type_name(field.type)}' for field in kind.fields)}>"
    return simple_type({"integer": "int"}.get(kind.type, str(kind.type)))
