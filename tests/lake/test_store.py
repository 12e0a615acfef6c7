"""Adoption of parts: each key once, known rows left out, nothing seen before the commit."""

import shutil
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from winnow.errors import DataError
from winnow.lake import store
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, PartWriter, arrow_schema, read_batches
from winnow.lake.store import (
    adopt,
    commit_note,
    commit_notes,
    commit_parts,
    ensure_tables,
    mark,
    open_table,
    read_rows,
    require_table,
    rows_since,
    seen_by,
    state,
    write_rows,
)

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


def add_labels(lake: str, *labels: str) -> int:
    rows = pa.table({"symbol": pa.array(range(len(labels)), pa.int32()), "label": list(labels)})
    return commit_parts(lake, "vocabulary", write_rows(lake, "vocabulary", rows), {}, {"seen": {"labels": labels}})


def test_a_table_is_as_it_is_now(lake: str) -> None:
    """Whoever wrote it, also when it was removed and made anew."""
    ensure_tables(lake, ["vocabulary"])
    for version in range(1, 12):
        assert add_labels(lake, f"l{version}") == version == require_table(lake, "vocabulary").version()
    assert read_rows(lake, "vocabulary").num_rows == 11
    assert read_rows(lake, "vocabulary", version=3).num_rows == 3
    assert [version for version, _ in commit_notes(lake, "vocabulary")] == list(range(11, 0, -1))
    assert commit_note(lake, "vocabulary", 2) == {"seen": {"labels": ["l2"]}}
    assert commit_note(lake, "vocabulary", 12) == {}
    other = deltalake.DeltaTable(f"{lake}/vocabulary")
    other.delete("label = 'l1'")
    assert require_table(lake, "vocabulary").version() == other.version() == 12
    assert read_rows(lake, "vocabulary").num_rows == 10
    for _ in range(5):
        name = require_table(lake, "vocabulary").metadata().id
        shutil.rmtree(lake)
        assert open_table(lake, "vocabulary") is None
        ensure_tables(lake, ["vocabulary"])
        assert require_table(lake, "vocabulary").metadata().id != name


@pytest.mark.parametrize("name", ["a b", "a[b]*", "a'b", "ä?"])
def test_a_lake_may_have_any_name(tmp_path: Path, name: str) -> None:
    lake = str(tmp_path / name)
    ensure_tables(lake, ["document_sources"])
    assert adopt(lake, "document_sources", part(lake, ("a", "x")), DATE, {}) == 1
    assert adopt(lake, "document_sources", part(lake, ("a", "x"), ("b", "x")), DATE, {}) == 1
    assert require_table(lake, "document_sources").version() == 2
    assert read_rows(lake, "document_sources").num_rows == 2


def test_notes_are_those_of_their_versions_while_others_write(lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_tables(lake, ["vocabulary"])
    add_labels(lake, "a")
    seen = deltalake.DeltaTable(f"{lake}/vocabulary")
    add_labels(lake, "b")
    monkeypatch.setattr(store, "require_table", lambda *_: seen)  # the other one came just after
    assert list(commit_notes(lake, "vocabulary")) == [(1, {"seen": {"labels": ["a"]}})]


def test_rows_since_a_mark(lake: str) -> None:
    ensure_tables(lake, ["vocabulary"])

    def since(seen: object) -> tuple[list[str], bool]:
        version = require_table(lake, "vocabulary").version()
        found = rows_since(lake, "vocabulary", ["label"], {"vocabulary": seen}, version)
        return sorted(found.rows.column(0).to_pylist()), found.is_grown

    seen = mark(lake, "vocabulary", add_labels(lake, "a", "b"))
    assert since(seen) == ([], True)
    add_labels(lake, "c")
    assert since(seen) == (["c"], True)
    assert since(None) == since(seen | {"version": 99}) == since(seen | {"table": "other"}) == (["a", "b", "c"], False)
    require_table(lake, "vocabulary").delete("label = 'a'")
    assert since(seen) == (["b", "c"], False)  # b lies in another file now


def test_a_note_stands_until_something_else_changes_the_table(lake: str) -> None:
    ensure_tables(lake, ["vocabulary"])
    assert seen_by(lake, "vocabulary") == {}
    add_labels(lake, "a")
    add_labels(lake, "b")
    require_table(lake, "vocabulary").optimize.compact()
    assert seen_by(lake, "vocabulary") == commit_note(lake, "vocabulary")["seen"] == {"labels": ["b"]}
    require_table(lake, "vocabulary").restore(1)
    assert seen_by(lake, "vocabulary") == {}


@pytest.mark.parametrize(("length", "most"), [(10, 100), (1000, 10)])
def test_batches_of_large_rows_are_small(tmp_path: Path, length: int, most: int) -> None:
    contents = [bytes([k]) * length for k in range(250)]
    table = pa.table({"n": range(250), "content": contents})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=200, use_dictionary=False)
    with pq.ParquetFile(tmp_path / "rows.parquet") as reader:
        found = list(read_batches(reader, [0, 1], ["content"], rows=100, size=10_500))
    assert [content for batch in found for content in batch.column(0).to_pylist()] == contents
    assert max(batch.num_rows for batch in found) == most
