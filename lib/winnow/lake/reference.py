"""The table reference for people, made from the contracts: `python -m winnow.lake.reference > infra/docs/tables.md`."""

from collections.abc import Iterator

from winnow.lake.contracts import load_contract, table_names

GROUPS = {
    "What came in": ("documents", "document_sources", "quarantine", "profiles", "rejected_profiles"),
    "What it is made of": (
        "vocabulary", "paths", "encoded_documents", "path_documents", "document_samples", "selectivity", "patterns",
        "profile_patterns", "branches",
    ),
    "The index": ("envelope_nodes", "index_partitions", "path_branches"),
    "Answers": ("matches_staged", "matches", "undecided", "deliveries"),
    "What was done": ("ledger", "profile_sets", "quality_results", "run_metrics"),
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
    contract = load_contract(name)
    yield from ("", f"### {name}", contract.description, "", "| column | type | |", "|---|---|---|")
    for column in contract.columns:
        marks = "🔑" * (column.name in contract.key) + "📁" * (column.name in contract.partition_by)
        optional = " *(may be null)*" * column.nullable
        yield f"| `{column.name}` {marks} | {column.type} | {column.description}{optional} |"
    if contract.constraints:
        yield from ("", "Always true: " + "; ".join(f"`{rule}`" for rule in contract.constraints.values()) + ".")


if __name__ == "__main__":
    print(reference(), end="")
