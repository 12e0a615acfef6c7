"""Checksums of tables: what "the same tables" means in the tests."""

import hashlib
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
from duckdb_extensions import import_extension
from pyspark.sql import SparkSession

Checksum = tuple[int, str]


def checksum(table: pa.Table) -> Checksum:
    """Row count and an order-independent digest over all columns, by name."""
    names = sorted(table.column_names)
    columns = [[_plain(value) for value in table.column(name).to_pylist()] for name in names]
    rows = sorted(hashlib.sha256(repr(row).encode()).digest() for row in zip(*columns, strict=True))
    return len(rows), hashlib.sha256(b"".join(rows)).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, dict):  # a MAP column reads as a dict in some readers, as pairs in others
        return sorted(value.items())
    return bytes(value) if isinstance(value, bytearray) else value


def by_delta_rs(location: str) -> Checksum:
    return checksum(deltalake.DeltaTable(location).to_pyarrow_table())


def by_duckdb(location: str) -> Checksum:
    import_extension("delta")
    connection = duckdb.connect()
    connection.execute("LOAD delta")
    return checksum(connection.execute("SELECT * FROM delta_scan(?)", [location]).to_arrow_table())


def by_spark(spark: SparkSession, location: str) -> Checksum:
    return checksum(spark.read.format("delta").load(location).toArrow())


def lake_checksums(lake: str) -> dict[str, Checksum]:
    return {path.parent.name: by_delta_rs(str(path.parent)) for path in sorted(Path(lake).glob("*/_delta_log"))}
