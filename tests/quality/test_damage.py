"""Damage to what a run has read: files that are not as committed, and rows that somebody has committed since."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from jobs.slow import nightly
from quality.gate_lake import DAY, GateLake
from winnow.jobs import audit_matches
from winnow.jobs.publish_matches import staged_run
from winnow.quality.audited_run import AuditedRun

pytestmark = pytest.mark.spark

READ = (
    "documents", "document_sources", "encoded_documents", "profiles", "profile_patterns", "paths", "path_branches",
    "branches", "index_partitions", "index_symbols", "envelope_nodes", "selectivity", "matches_staged",
)  # fmt: skip


def data_file(lake: GateLake, table: str) -> Path:
    """A data file of a table; the checksum that Hadoop keeps beside it on local disks is taken away."""
    file = max((lake.folder / table).rglob("*.parquet"), key=lambda path: path.stat().st_size)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    return file


def audited(lake: GateLake) -> AuditedRun:
    lake.tables.create("matches")
    return audit_matches.audited_run(lake.tables, staged_run(lake.tables, DAY, lake.run_id), sample=100, seed=0)


def test_whole_files_are_found_whole(ready: GateLake) -> None:
    findings = audited(ready).file_findings
    assert set(findings) == {*READ, "matches"}
    assert not any(finding.unexpected for finding in findings.values())


def test_one_flipped_bit_in_each_table_is_found(ready: GateLake) -> None:
    """In the middle of the first column chunk, which is data of pages and not what describes them."""
    for table in READ:
        file = data_file(ready, table)
        chunks = [pq.ParquetFile(file).metadata.row_group(0).column(k) for k in range(3)]
        chunk = max(chunks, key=lambda chunk: chunk.total_compressed_size)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        content = bytearray(file.read_bytes())
        content[start + chunk.total_compressed_size - 2] ^= 4
        file.write_bytes(content)
    findings = audited(ready).file_findings
    assert {table for table in READ if not findings[table].unexpected} == set()
    assert "CRC" in findings["documents"].examples[0] or "cannot be read" in findings["documents"].examples[0]


def test_files_that_are_cut_off_exchanged_gone_or_rewritten_are_found(ready: GateLake) -> None:
    cut, other, gone, short = (data_file(ready, t) for t in ("documents", "paths", "profiles", "path_branches"))
    cut.write_bytes(cut.read_bytes()[:-100])
    other.write_bytes(data_file(ready, "branches").read_bytes())
    gone.unlink()
    rows = pq.ParquetFile(short).read()
    pq.write_table(rows.slice(1), short)
    loose = data_file(ready, "matches_staged")
    staged = pq.ParquetFile(loose).read()
    broken = [row | {"candidates": None} for row in staged.to_pylist()]
    schema = pa.schema([field.with_nullable(True) for field in staged.schema])
    pq.write_table(pa.Table.from_pylist(broken, schema=schema), loose)
    findings = audited(ready).file_findings
    told = {table: " ".join(finding.examples) for table, finding in findings.items() if finding.unexpected}
    assert set(told) == {"documents", "paths", "profiles", "path_branches", "matches_staged"}
    assert "the log says" in told["documents"]
    assert "has no column" in told["paths"]
    assert "is missing" in told["profiles"]
    assert f"has {rows.num_rows - 1} rows, the log says {rows.num_rows}" in told["path_branches"]
    assert f"has {staged.num_rows} nulls in candidates" in told["matches_staged"]
    assert str(gone) in told["profiles"]


@nightly
def test_the_log_is_read_behind_a_checkpoint(ready: GateLake) -> None:
    spark, tables = ready.tables.spark, ready.tables
    name = tables.lake.table("paths")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    for number in range(4):
        spark.sql(f"UPDATE {name} SET depth = depth + {number}")
    assert list((ready.folder / "paths" / "_delta_log").glob("*.checkpoint.parquet"))
    ready.name_version("paths")
    assert not audited(ready).file_findings["paths"].unexpected
    for file in (ready.folder / "paths").glob("*.parquet"):
        file.write_bytes(b"nothing")
    assert audited(ready).file_findings["paths"].unexpected == 1


def without_first(column: str) -> Callable[[DataFrame], DataFrame]:
    def drop(rows: DataFrame) -> DataFrame:
        return rows.where(sf.col(column) != rows.agg(sf.min(column)).collect()[0][0])

    return drop


def with_sql(**columns: str) -> Callable[[DataFrame], DataFrame]:
    return lambda rows: rows.withColumns({name: sf.expr(rule) for name, rule in columns.items()})


def made_up_pair(rows: DataFrame) -> DataFrame:
    one = rows.limit(1).withColumn("text", ~sf.col("text"))
    return rows.unionByName(one)


def twice(rows: DataFrame) -> DataFrame:
    return rows.unionByName(rows)


def lost_node(rows: DataFrame) -> DataFrame:
    return rows.where("node_id < 2 OR partition > 0")


NAMED = "map_concat(map_filter(inputs, (k, v) -> k <> 'branches'), map('branches', {}L))"
Defects = dict[str, Callable[[DataFrame], DataFrame]]
COMMITTED: dict[str, tuple[Defects, dict[str, set[str]]]] = {
    "rows that are lost": (
        {
            "encoded_documents": without_first("document_id"),
            "path_branches": without_first("path_id"),
            "profiles": with_sql(xpath="concat(xpath, ' ')"),
            "documents": with_sql(content="concat(content, cast(' ' AS binary))"),
        },
        {
            "encoded_documents": {"documents_encoded", "batches_whole"},
            "path_branches": {"joins_right"},
            "profiles": {"xpath_ids_are_hashes"},
            "documents": {"document_ids_are_hashes"},
        },
    ),
    "rows that are changed or made up": (
        {
            "encoded_documents": with_sql(values="concat(values, cast('x' AS binary))"),
            "path_branches": made_up_pair,
            "profiles": with_sql(profile_id="'p'"),
            "index_partitions": with_sql(must="must + 1"),
        },
        {
            "encoded_documents": {"encodings_repeatable"},
            "path_branches": {"joins_right"},
            "profiles": {"keys_unique", "profile_keys_are_hashes", "one_version_active"},
            "envelope_nodes": {"roots_listed"},
        },
    ),
    "names and nodes": (
        {
            "encoded_documents": with_sql(document_id="reverse(document_id)"),
            "profiles": with_sql(profile_key="1L", valid_from="DATE'2026-1-2'", valid_to="DATE'2026-1-2'", until="1L"),
            "envelope_nodes": lost_node,
            "paths": with_sql(label="concat(label, 'x')"),
        },
        {
            "encoded_documents": {
                "document_id_known", "documents_encoded", "documents_located", "encodings_repeatable",
            },
            "profiles": {
                "profile_keys_unique", "profile_keys_are_hashes", "validity_is_not_empty", "until_is_of_the_past",
            },
            "envelope_nodes": {"envelopes_sound", "roots_listed", "branches_in_one_partition"},
            "path_branches": {"joins_right", "paths_named"},
        },
    ),
    "rows that come twice and name what is not there": (
        {
            "documents": with_sql(document_id="'ab'", size_bytes="-1L"),
            "encoded_documents": twice,
            "profiles": with_sql(state="'gone'", profile_version="0", xpath_id="'x'"),
            "path_branches": lambda rows: twice(rows.unionByName(with_sql(path_id="7L", branch_id="8L")(rows))),
            "envelope_nodes": lambda rows: rows.unionByName(with_sql(branch_id="branch_id + 1")(rows)),
            "branches": with_sql(labels="transform(labels, l -> concat(l, 'x'))"),
        },
        {
            "documents": {
                "document_id_is_sha256", "size_bytes_is_positive", "document_ids_are_hashes", "keys_unique",
            },
            "encoded_documents": {
                "keys_unique", "batches_whole", "document_id_known", "documents_encoded", "documents_conserved",
                "encodings_repeatable",
            },
            "profiles": {
                "state_is_known", "profile_version_is_positive", "profile_keys_are_hashes", "xpath_ids_are_hashes",
                "xpath_id_known", "until_is_of_the_past",
            },
            "path_branches": {"keys_unique", "path_id_known", "branch_id_known", "joins_right"},
            "envelope_nodes": {
                "keys_unique", "branch_id_known", "envelopes_sound", "roots_listed", "branches_in_one_partition",
                "branches_named",
            },
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMITTED)
def test_rows_that_somebody_has_committed(ready: GateLake, name: str) -> None:
    defects, expected = COMMITTED[name]
    for table, defect in defects.items():
        ready.rewrite(table, defect)
    if "branches" in defects:
        version = ready.tables.version("branches")
        ready.rewrite("index_partitions", with_sql(inputs=NAMED.format(version)))
    for table, checks in ready.failed_of(*expected).items():
        assert checks == expected[table], table
