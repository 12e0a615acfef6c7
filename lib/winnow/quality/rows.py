"""Rows of data files in a database, without reading what nobody asks for."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads

from winnow.lake.contracts import load_contract
from winnow.lake.parts import arrow_schema, filesystem
from winnow.lake.sql import open_database
from winnow.quality.outcome import Outcome


def open_outcome(outcome: Outcome, **tables: pa.Table) -> Any:
    """A database with `staged` and `published`, the answers to be published, and these tables."""
    database = open_database()
    add_files(database, "staged", "matches_staged", outcome.staged)
    add_files(database, "published", "matches", outcome.published)
    for name, rows in tables.items():
        database.register(name, rows)
    return database


def add_files(database: Any, name: str, table: str, uris: Iterable[str]) -> None:
    """Any column may be null here: who audits should not believe a schema that says otherwise.

    DuckDB's own reader is many times faster than Arrow's, but knows local files only.
    """
    found = list(uris)
    schema = pa.schema([field.with_nullable(True) for field in arrow_schema(load_contract(table))])
    if not found:
        database.register(name, schema.empty_table())
    elif any("://" in uri for uri in found):
        paths = [filesystem(uri)[1] for uri in found]
        database.register(
            name, pads.dataset(paths, schema=schema, filesystem=filesystem(found[0])[0], format="parquet")
        )
    else:
        columns = ", ".join(f'"{column}"' for column in schema.names)
        files = ", ".join(_quoted(uri) for uri in found)
        database.execute(
            f'CREATE VIEW "{name}" AS SELECT {columns} FROM read_parquet([{files}], hive_partitioning=false)'
        )


def _quoted(text: str) -> str:
    """
    >>> _quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
