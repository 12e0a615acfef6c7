"""Table contracts: the shape of every table is data under `schemas/<table>/contract.toml`."""

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from winnow.errors import DataError, UsageError

# Readable by delta-rs, DuckDB and Polars: none of the features that lock them out (checked on read and write).
PROPERTIES = {
    "delta.enableDeletionVectors": "false",
    "delta.columnMapping.mode": "none",
    "delta.checkpointPolicy": "classic",
    "delta.enableRowTracking": "false",
    "delta.enableInCommitTimestamps": "false",
}


DEFAULT_LAKE = ".winnow/lake"


def lake_path(given: str | None) -> str:
    """`--lake`, else WINNOW_LAKE, else .winnow/lake; absolute, so that workers agree on it.

    >>> lake_path("s3a://bucket/lake/")
    's3a://bucket/lake'
    """
    path = (given or os.environ.get("WINNOW_LAKE") or DEFAULT_LAKE).rstrip("/")
    if "://" in path:
        return path
    if Path(path).exists() and not Path(path).is_dir():
        raise UsageError("bad_lake", f"{path} is a file", hint="give a folder; it is made where there is none")
    return str(Path(path).absolute())


class Column(NamedTuple):
    name: str
    type: str
    nullable: bool
    description: str
    # lz4 for what is read whole though few rows are wanted: twice the size, a third of the time. none: it is packed.
    codec: str = "zstd"


class Contract(NamedTuple):
    table: str
    version: int
    description: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    partition_by: tuple[str, ...] = ()
    constraints: Mapping[str, str] = {}
    properties: Mapping[str, str] = {}

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def all_properties(self) -> dict[str, str]:
        checks = {f"delta.constraints.{name}": rule for name, rule in self.constraints.items()}
        return {**PROPERTIES, **self.properties, **checks, "winnow.contract.version": str(self.version)}


def schemas_folder() -> Path:
    """`schemas/` of the checkout, or the copy inside an installed wheel."""
    package = Path(__file__).parents[1]
    for folder in (package.parents[1] / "schemas", package / "_schemas"):
        if folder.is_dir():
            return folder
    raise UsageError("schemas_missing", "the table contracts are not installed", hint="reinstall winnow")


def table_names() -> list[str]:
    return sorted(path.parent.name for path in schemas_folder().glob("*/contract.toml"))


@cache
def load_contract(table: str) -> Contract:
    """The contract of a table.

    >>> load_contract("documents").key
    ('document_id',)
    """
    path = schemas_folder() / table / "contract.toml"
    if not path.is_file():
        raise UsageError("unknown_table", f"no contract for table {table!r}", hint="known: " + ", ".join(table_names()))
    return parse_contract(path.read_text())


def parse_contract(text: str) -> Contract:
    data = tomllib.loads(text)
    columns = tuple(Column(**column) for column in data.pop("columns"))
    for field in ("key", "partition_by"):
        data[field] = tuple(data.get(field, ()))
    contract = Contract(columns=columns, **data)
    unknown = {*contract.key, *contract.partition_by} - set(contract.names)
    if unknown:
        raise DataError(
            "contract_invalid", f"{contract.table}: key or partition columns {sorted(unknown)} do not exist"
        )
    return contract


class Shape(NamedTuple):
    """What a frame or table really looks like, in the contract's words."""

    columns: tuple[tuple[str, str], ...]  # name, Spark's simple type string
    partition_by: tuple[str, ...] | None = None  # None: not known for a frame
    properties: Mapping[str, str] | None = None


def discrepancies(contract: Contract, shape: Shape) -> list[str]:
    """Everything that is wrong at once, so that one reading is enough to mend it."""
    found = []
    actual = dict(shape.columns)
    for column in contract.columns:
        wanted = column.type.replace("long", "bigint")
        if column.name not in actual:
            found.append(f"column {column.name} ({wanted}) is missing")
        elif actual[column.name] != wanted:
            found.append(f"column {column.name} is {actual[column.name]}, the contract says {wanted}")
    found += [f"column {name} ({actual[name]}) is not in the contract" for name in actual if name not in contract.names]
    if not found and tuple(actual) != tuple(contract.names):
        found.append(f"columns are in the order {list(actual)}, the contract says {contract.names}")
    if shape.partition_by is not None and shape.partition_by != contract.partition_by:
        found.append(f"partitioned by {list(shape.partition_by)}, the contract says {list(contract.partition_by)}")
    for name, wanted in contract.all_properties.items() if shape.properties is not None else ():
        value = (shape.properties or {}).get(name)
        if value != wanted:
            found.append(f"property {name} is {value}, the contract says {wanted}")
    return found


def require(contract: Contract, shape: Shape, *, what: str) -> None:
    found = discrepancies(contract, shape)
    if found:
        lines = "".join(f"\n  - {line}" for line in found)
        raise DataError(
            "contract_broken",
            f"{what} does not fit the contract {contract.table} v{contract.version}:{lines}",
            hint=f"see schemas/{contract.table}/contract.toml",
        )
