"""Adoption of parts: each key once, known rows left out, nothing seen before the commit."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from winnow.errors import DataError
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, PartWriter, arrow_schema
from winnow.lake.store import adopt, ensure_tables, state

DATE = {"ingest_date": "2026-11-16"}


def part(lake: str, *rows: tuple[str, str]) -> list[Part]:
    contract = load_contract("document_sources")
    writer = PartWriter(lake, contract, DATE)
    columns: list[list[Any]] = [[d for d, _ in rows], [s for _, s in rows], [""] * len(rows), [0] * len(rows)]
    writer.write(pa.table([pa.array(c) for c in columns], schema=arrow_schema(contract)))
    return writer.close()


def rows(lake: str) -> list[tuple[str, str]]:
    table = deltalake.DeltaTable(f"{lake}/document_sources").to_pyarrow_table()
    return sorted(zip(table.column("document_id").to_pylist(), table.column("source").to_pylist(), strict=True))


def test_adopt_is_a_union_by_key(lake: str) -> None:
    ensure_tables(lake, ["document_sources"])
    first = part(lake, ("a", "x"), ("b", "x"))
    assert rows(lake) == []  # written, but no commit names it
    assert adopt(lake, "document_sources", first, DATE, {}) == 2
    mixed = part(lake, ("a", "x"), ("a", "y"), ("c", "x")) + part(lake, ("c", "x"), ("d", "x"))
    assert adopt(lake, "document_sources", mixed, DATE, {}) == 3
    assert rows(lake) == [("a", "x"), ("a", "y"), ("b", "x"), ("c", "x"), ("d", "x")]
    assert adopt(lake, "document_sources", part(lake, ("d", "x")), DATE, {}) == 0
    assert adopt(lake, "document_sources", [], DATE, {}) == 0
    found = state(lake, "document_sources")
    assert found is not None
    assert (found.version, found.rows) == (2, 5)
    on_disk = list(Path(lake).glob("document_sources/*/*.parquet"))
    assert len(on_disk) == found.files  # dropped and rewritten parts are gone


def test_rows_that_break_a_constraint_are_refused(lake: str) -> None:
    ensure_tables(lake, ["quarantine"])
    contract = load_contract("quarantine")
    writer = PartWriter(lake, contract, DATE)
    values: dict[str, Any] = {"quarantine_id": "q", "reason": "", "content": None}
    row = {f.name: values.get(f.name, 0 if pa.types.is_integer(f.type) else "") for f in arrow_schema(contract)}
    row["content"] = None
    writer.write(pa.Table.from_pylist([row], schema=arrow_schema(contract)))
    with pytest.raises(DataError, match=r"reason_is_given \(1 rows\)"):
        adopt(lake, "quarantine", writer.close(), DATE, {})
    loose = pa.schema([field.with_nullable(True) for field in arrow_schema(contract)])
    with pytest.raises(DataError, match="must not be null"):
        writer.write(pa.Table.from_pylist([{**row, "source": None}], schema=loose))
