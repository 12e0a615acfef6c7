"""What `winnow status` and `winnow query` answer by a Spark session, which alone knows the tables of a catalog."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from winnow.errors import UsageError
from winnow.query.stored_tables import TableState
from winnow.tables.contract import table_names

if TYPE_CHECKING:
    import pyarrow as pa

    from winnow.tables.tables import Tables

MAX_SHOWN = 100_000  # rows that come to the client


def table_states(tables: "Tables") -> Iterator[TableState]:
    """Yields version, rows, files and size of each table that is there."""
    from winnow.tables.small import read_one

    for name in table_names():
        if tables.exists(name):
            detail = read_one(tables.spark.sql(f"DESCRIBE DETAIL {tables.lake.table(name)}"))
            rows = tables.read(name).count()
            yield TableState(name, tables.version(name), rows, detail["numFiles"], detail["sizeInBytes"])


def reasons_of(tables: "Tables", table: str) -> dict[str, int]:
    """Returns how many rows of a table have which reason, the most frequent first; none if there is no table."""
    from pyspark.sql import functions as sf

    from winnow.tables.small import read_small

    if not tables.exists(table):
        return {}
    counted = tables.read(table).groupBy("reason").agg(sf.count("*").alias("rows"))
    return {row["reason"]: row["rows"] for row in read_small(counted.orderBy(sf.desc("rows"), "reason"))}


def matches(
    tables: "Tables", wanted: Mapping[str, Any], *, version: int | None = None, limit: int = 0
) -> "pa.RecordBatchReader":
    """Returns published matches whose columns have these values, in a stable order.

    Raises:
        UsageError: they are too many for a client.
    """
    import pyarrow as pa
    from pyspark.sql import functions as sf

    from winnow.tables.small import read_small

    rows = tables.read("matches", version=version)
    for column, value in wanted.items():
        rows = rows.where(sf.col(column) == sf.lit(value))
    if not limit and rows.limit(MAX_SHOWN + 1).count() > MAX_SHOWN:
        hint = "give --limit, or read the table in the session"
        raise UsageError("too_many_rows", f"these are more than {MAX_SHOWN:,} matches", hint=hint)
    ordered = rows.orderBy("match_date", "document_id", "profile_id").limit(limit or MAX_SHOWN)
    found = [row.asDict() for row in read_small(ordered, MAX_SHOWN)]
    table = pa.Table.from_pylist(found) if found else pa.table({name: [] for name in rows.columns})
    return table.to_reader()
