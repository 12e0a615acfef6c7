"""The tables of a lake as delta-rs opens them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.fs as pafs
from deltalake.exceptions import TableNotFoundError

from winnow.errors import DataError, UsageError
from winnow.tables.contract import contract, contract_broken, simple_type, table_names
from winnow.tables.lake import Lake


class TableState(NamedTuple):
    table: str
    version: int
    rows: int
    files: int
    size_bytes: int


def require_readable(lake: Lake) -> None:
    """Raises unless delta-rs can read the lake: a catalog is known to Spark sessions only."""
    if lake.is_catalog:
        raise UsageError(
            "needs_session",
            f"{lake.location} is a schema of a catalog, which is read by a Spark session",
            hint="ask in a session of the catalog: winnow query without --sql, or spark.sql",
        )


def open_table(lake: Lake, name: str, *, version: int | None = None) -> deltalake.DeltaTable | None:
    """Returns the table, checked against its contract; None if there is none.

    Raises:
        DataError: it does not fit its contract.
        UsageError: it has no such version, or VACUUM has removed files of it.
    """
    require_readable(lake)
    place = f"{lake.location}/{name}".replace("s3a://", "s3://", 1)
    options = {key: str(value) for key, value in lake.storage_options.items()}
    try:
        table = deltalake.DeltaTable(place, storage_options=options or None)
    except TableNotFoundError:
        return None
    _require_contract(table, name)
    if version is None:
        return table
    try:
        table.load_as_version(version)
    except deltalake.exceptions.DeltaError as error:
        raise UsageError("no_such_version", f"{name} has no version {version}: {error}") from error
    if missing_files(data_files(table)):
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


def missing_files(files: list[str]) -> list[str]:
    """Returns those that are no longer there: VACUUM removes what only older versions name."""
    if not files or "://" in files[0]:
        return []
    found = pafs.LocalFileSystem().get_file_info(files)
    return [file for file, info in zip(files, found, strict=True) if info.type == pafs.FileType.NotFound]


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
