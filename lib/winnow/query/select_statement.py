"""Accept one SELECT over the tables of the lake, as DuckDB's own parser reads it, and refuse everything else."""

import json
from typing import Any

import duckdb

from winnow.errors import UsageError
from winnow.tables.contract import table_names

# They make rows of their arguments alone. Others read files, run text as SQL, or change settings from within a SELECT.
TABLE_FUNCTIONS = ("generate_series", "json_each", "json_tree", "range", "unnest")


def require_select(database: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """Returns the parsed statement; what is executed is this object, so it is what was checked."""
    try:
        text.encode()  # DuckDB takes no surrogates, which stand for bytes of an argument that are not UTF-8
        statements = database.extract_statements(text)
    except (duckdb.Error, UnicodeError) as error:
        raise bad_sql(error) from error
    if [statement.type.name for statement in statements] != ["SELECT"]:
        raise _not_a_query()
    nodes = _syntax_tree(database, text)
    tables = {*table_names(), *_names_of_subqueries(nodes)}
    for node in nodes:
        if node.get("type") == "TABLE_FUNCTION":
            _require_row_function(node["function"]["function_name"])
        elif node.get("type") == "BASE_TABLE":
            _require_table(node, tables)
        elif node.get("type") == "SHOW_REF":
            _require_no_file(_qualified_name(node))
    return statements[0]


def bad_sql(error: Exception) -> UsageError:
    """DuckDB's own first line."""
    return UsageError("bad_sql", str(error).split("\n", 1)[0], hint="`winnow status` lists the tables")


def _not_a_query() -> UsageError:
    return UsageError(
        "not_a_query",
        "one query is answered at a time, and nothing else",
        hint="give one SELECT; WITH, FROM, VALUES, DESCRIBE, SUMMARIZE and SHOW TABLES may begin it, too",
    )


def _syntax_tree(database: duckdb.DuckDBPyConnection, text: str) -> list[dict[str, Any]]:
    """All nodes of the statement, however deep."""
    nodes: list[dict[str, Any]] = []

    def keep(node: dict[str, Any]) -> dict[str, Any]:
        nodes.append(node)
        return node

    ((tree,),) = database.execute("SELECT json_serialize_sql($1)", [text]).fetchall()
    try:
        root = json.loads(tree, object_hook=keep)
    except RecursionError as error:
        raise UsageError("bad_sql", "the query is nested too deep", hint="use a list or a join instead") from error
    if root["error"]:  # such as a PRAGMA, which counts as the SELECT it stands for
        raise _not_a_query()
    return nodes


def _require_row_function(name: str) -> None:
    if name.lower() not in TABLE_FUNCTIONS:
        raise UsageError(
            "not_a_table",
            f"{name}() cannot be asked: queries read the tables of the lake, no files and no settings",
            hint=f"of functions, FROM takes {', '.join(TABLE_FUNCTIONS)}",
        )


def _names_of_subqueries(nodes: list[dict[str, Any]]) -> set[str]:
    """Those that WITH gives."""
    return {entry["key"].lower() for node in nodes if "cte_map" in node for entry in node["cte_map"]["map"]}


def _qualified_name(node: dict[str, Any]) -> str:
    return ".".join(filter(None, (node["catalog_name"], node["schema_name"], node["table_name"])))


def _require_table(node: dict[str, Any], tables: set[str]) -> None:
    """Views of DuckDB itself are none: they tell how it is set up."""
    name = _qualified_name(node)
    _require_no_file(name)
    if name.lower() not in tables:
        raise _not_a_table(name)


def _require_no_file(name: str) -> None:
    """A plain word is a table or nothing; DuckDB takes a name with a dot for a file, and so it does a qualified one."""
    if "." in name:
        raise _not_a_table(name)


def _not_a_table(name: str) -> UsageError:
    return UsageError(
        "not_a_table",
        f"{name} is no table of the lake; queries read no files",
        hint="name a table by its plain name; `winnow status` lists them",
    )
