"""A table's contract is data: `schemas/<table>/contract.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.errors import DataError, UsageError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# Readable by delta-rs, DuckDB and Polars: none of the features that lock them out.
PROPERTIES = {
    "delta.enableDeletionVectors": "false",
    "delta.columnMapping.mode": "none",
    "delta.checkpointPolicy": "classic",
    "delta.enableRowTracking": "false",
    "delta.enableInCommitTimestamps": "false",
}


VERSION_PROPERTY = "winnow.contract.version"


@dataclass(frozen=True)
class Column:
    name: str
    type: str  # as Spark's SQL writes it
    nullable: bool
    description: str

    @property
    def ddl(self) -> str:
        return f"`{self.name}` {self.type}{'' if self.nullable else ' NOT NULL'} COMMENT {quoted(self.description)}"


@dataclass(frozen=True)
class Contract:
    """The columns, key, partitioning, constraints and properties of a table."""

    table: str
    version: int
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...] = ()
    constraints: Mapping[str, str] | None = None
    properties: Mapping[str, str] | None = None

    @property
    def names(self) -> list[str]:
        """The columns in order: what the last `select` of every transform lists."""
        return [column.name for column in self.columns]

    @property
    def ddl(self) -> str:
        """The columns for SQL, with nullability and comments."""
        return ", ".join(column.ddl for column in self.columns)

    @property
    def row_type(self) -> str:
        """The columns as the result type of a kernel."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns)

    def row_type_of(self, *without: str) -> str:
        """The same, without some columns."""
        return ", ".join(f"`{column.name}` {column.type}" for column in self.columns if column.name not in without)

    @property
    def all_properties(self) -> dict[str, str]:
        checks = {f"delta.constraints.{name}": rule for name, rule in (self.constraints or {}).items()}
        return {**PROPERTIES, **(self.properties or {}), **checks, VERSION_PROPERTY: str(self.version)}

    def require(self, schema: "StructType", *, what: str) -> None:
        """Raises one error that lists every column that is missing, of another type, or not in the contract."""
        problems = self.discrepancies(column_types(schema))
        if problems:
            raise contract_broken(self, what, problems)

    def discrepancies(self, actual: Mapping[str, str]) -> list[str]:
        """Returns what is wrong with columns, given with their types as Spark's schemas write them."""
        wanted = {column.name: simple_type(column.type) for column in self.columns}
        problems = [f"column {name} ({kind}) is missing" for name, kind in wanted.items() if name not in actual]
        problems += [
            f"column {name} is {actual[name]}, the contract says {kind}"
            for name, kind in wanted.items()
            if name in actual and actual[name] != kind
        ]
        return problems + [
            f"column {name} ({kind}) is not in the contract" for name, kind in actual.items() if name not in wanted
        ]


def column_types(schema: "StructType") -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def contract_broken(
    of: Contract, what: str, problems: list[str], properties: Mapping[str, str] | None = None
) -> DataError:
    """Returns what is said of a table with other columns; its properties tell whether it was made by older code."""
    made_with = (properties or {}).get(VERSION_PROPERTY, "")
    if made_with.isdecimal() and int(made_with) < of.version:
        return DataError(
            "older_layout",
            f"{what} was made by an older Winnow: it has version {made_with} of the contract {of.table}, this Winnow"
            f" reads and writes version {of.version}; nothing was changed",
            hint="make a new lake: give another --lake, ingest the documents and profiles again, run their dates",
        )
    lines = "".join(f"\n  - {problem}" for problem in problems)
    return DataError(
        "contract_broken",
        f"{what} does not fit the contract {of.table} v{of.version}:{lines}",
        hint=f"see schemas/{of.table}/contract.toml",
    )


def schemas_folder() -> Path:
    """Returns `schemas/` of the checkout, or the copy inside an installed wheel."""
    package = Path(__file__).parents[1]
    for folder in (package.parents[1] / "schemas", package / "_schemas"):
        if folder.is_dir():
            return folder
    raise UsageError("schemas_missing", "the table contracts are not installed", hint="reinstall winnow")


def table_names() -> list[str]:
    """Returns the names of all tables that have a contract."""
    return sorted(path.parent.name for path in schemas_folder().glob("*/contract.toml"))


@cache
def contract(table: str) -> Contract:
    """Returns the contract of a table.

    >>> contract("documents").key
    ('document_id',)
    """
    path = schemas_folder() / table / "contract.toml"
    if not path.is_file():
        raise UsageError("unknown_table", f"no contract for table {table!r}", hint=f"known: {', '.join(table_names())}")
    return parse_contract(path.read_text())


def parse_contract(text: str) -> Contract:
    data = tomllib.loads(text)
    columns = tuple(
        Column(column["name"], column["type"], column["nullable"], column["description"])
        for column in data.pop("columns")
    )
    for name in ("key", "partition_by"):
        data[name] = tuple(data.get(name, ()))
    parsed = Contract(columns=columns, **data)
    unknown = sorted({*parsed.key, *parsed.partition_by} - set(parsed.names))
    if unknown:
        raise DataError("contract_invalid", f"{parsed.table}: key or partition columns {unknown} do not exist")
    return parsed


def quoted(text: str) -> str:
    """Returns a text as SQL writes it.

    >>> print(quoted("it's"))
    'it\\'s'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def simple_type(kind: str) -> str:
    """Returns a type as Spark's schemas write it.

    >>> simple_type("array<struct<code: long, name: string>>")
    'array<struct<code:bigint,name:string>>'
    """
    return kind.replace("long", "bigint").replace(": ", ":").replace(", ", ",")
