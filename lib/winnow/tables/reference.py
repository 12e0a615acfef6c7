"""The reference of tables, made from the contracts: `python -m winnow.tables.reference > infra/docs/tables.md`."""

from collections.abc import Iterator

from winnow.tables.contract import contract, table_names

GROUPS = {
    "What came in": ("arrivals", "documents", "document_sources", "quarantine", "profiles", "rejected_profiles"),
    "What it is made of": (
        "encoded_documents", "paths", "document_samples", "selectivity", "profile_patterns", "patterns", "branches",
    ),
    "The index": ("index_partitions", "index_symbols", "envelope_nodes", "path_branches", "path_joins"),
    "Answers": ("matches_staged", "matches", "undecided", "deliveries"),
    "What was done": ("runs", "quality_results", "run_metrics"),
}  # fmt: skip


def reference() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Tables"
    yield ""
    yield "Made from `schemas/*/contract.toml` by `make docs`; a test fails when they differ. Every table can be read"
    yield "by Spark, delta-rs, DuckDB and Polars (`queries.md`). 🔑 belongs to the key, 📁 partitions the table."
    listed = {name for names in GROUPS.values() for name in names}
    groups = {**GROUPS, "Others": tuple(name for name in table_names() if name not in listed)}
    for title, names in groups.items():
        known = [name for name in names if name in table_names()]
        if known:
            yield from ("", f"## {title}")
        for name in known:
            yield from _table(name)


def _table(name: str) -> Iterator[str]:
    wanted = contract(name)
    yield from ("", f"### {name}", wanted.description, "", "| column | type | |", "|---|---|---|")
    for column in wanted.columns:
        marks = "🔑" * (column.name in wanted.key) + "📁" * (column.name in wanted.partition_by)
        optional = " *(may be null)*" * column.nullable
        yield f"| `{column.name}` {marks} | {column.type} | {column.description}{optional} |"
    if wanted.constraints:
        yield from ("", "Always true: " + "; ".join(f"`{rule}`" for rule in wanted.constraints.values()) + ".")


if __name__ == "__main__":
    print(reference(), end="")
