"""Queries over the tables of a lake, some of which may not be there yet: then there is nothing to tell."""

from typing import Any

import duckdb

from winnow.query.database import connect
from winnow.tables.lake import Lake


class LakeQueries:
    """One connection to a lake; every query names the tables without which it has no answer."""

    def __init__(self, lake: Lake) -> None:
        self._database: duckdb.DuckDBPyConnection = connect(lake)
        self._known = {name for (name,) in self._database.execute("SHOW TABLES").fetchall()}

    def all(self, tables: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Returns the rows of a query; none where one of the tables, named with blanks between them, is missing."""
        return self._database.execute(query, list(values)).fetchall() if set(tables.split()) <= self._known else []

    def one(self, tables: str, query: str, *values: Any) -> Any:
        """Returns the only value of a query; 0 where there is none."""
        found = self.all(tables, query, *values)
        return found[0][0] or 0 if found else 0
