"""Ask the result tables, without a JVM: DuckDB over the same Delta files that Spark, Polars and delta-rs read."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import deltalake
import duckdb

from winnow.errors import UsageError
from winnow.lake.contracts import table_names
from winnow.lake.sql import register
from winnow.lake.store import location, open_table, require_table

FILTERS = {
    "document": "document_id",
    "source": "source",
    "profile": "profile_id",
    "subscriber": "subscriber",
    "destination": "destination",
    "date": "match_date",
}


def connect(lake: str, versions: Mapping[str, int] | None = None) -> duckdb.DuckDBPyConnection:
    """A connection in which every table of the lake is a view, at its newest version or at one of `versions`."""
    database = duckdb.connect()
    for name in table_names():
        version = (versions or {}).get(name)
        table = open_table(lake, name) if version is None else _at(lake, name, version)
        if table is not None:
            register(database, name, table)
    return database


def matches(lake: str, wanted: Mapping[str, Any], *, version: int | None = None, limit: int = 0) -> Any:
    """Published matches that fit all of `wanted` (keys of FILTERS), in a stable order, as an Arrow table."""
    require_table(lake, "matches")
    chosen = {FILTERS[name]: value for name, value in wanted.items() if value is not None}
    where = " AND ".join(f"{column} = ${column}" for column in chosen) or "true"
    query = f"SELECT * FROM matches WHERE {where} ORDER BY match_date, document_id, profile_id"
    query += f" LIMIT {int(limit)}" if limit else ""
    database = connect(lake, {"matches": version} if version is not None else None)
    return database.execute(query, chosen).to_arrow_table()


def sql(lake: str, text: str, *, version: int | None = None) -> Any:
    """The answer to one SELECT over the tables; nothing can be written through here."""
    database = connect(lake, {"matches": version} if version is not None else None)
    if "://" not in lake:
        folder = str(Path(lake).absolute()).replace("'", "''")
        database.execute(f"SET allowed_directories = ['{folder}']")
    database.execute("SET enable_external_access = false")
    if not re.match(r"\s*(SELECT|WITH|FROM|DESCRIBE|SHOW|SUMMARIZE)\b", text, re.IGNORECASE):
        raise UsageError("not_a_query", "only queries are answered here", hint="begin with SELECT, WITH or FROM")
    try:
        return database.execute(text).to_arrow_table()
    except duckdb.Error as error:
        raise UsageError("bad_sql", str(error).split("\n", 1)[0], hint="`winnow status` lists the tables") from error


def _at(lake: str, name: str, version: int) -> deltalake.DeltaTable:
    try:
        return deltalake.DeltaTable(location(lake, name), version=version)
    except deltalake.exceptions.DeltaError as error:
        raise UsageError("no_such_version", f"{name} has no version {version}: {error}") from error
