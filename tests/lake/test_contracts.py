"""Contracts: every discrepancy at once, on reading and on writing."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.errors import DataError, TransientError, UsageError
from winnow.ingest.reasons import ProfileReason, Reason
from winnow.lake.contracts import Shape, discrepancies, load_contract, parse_contract, table_names
from winnow.lake.locks import table_lock
from winnow.lake.store import ensure_tables, state
from winnow.lake.tables import Lake


def test_all_contracts_load_and_describe_themselves() -> None:
    assert {"documents", "document_sources", "quarantine", "profiles", "rejected_profiles"} <= set(table_names())
    for table in table_names():
        contract = load_contract(table)
        assert contract.table == table
        assert contract.description
        assert contract.key
        assert all(column.description for column in contract.columns)


def test_reason_codes_are_documented_where_people_look() -> None:
    def words(table: str) -> str:
        return next(c.description for c in load_contract(table).columns if c.name == "reason")

    assert all(reason in words("quarantine") for reason in Reason)
    assert all(reason in words("rejected_profiles") for reason in ProfileReason)


def test_discrepancies_are_listed_at_once() -> None:
    contract = load_contract("document_sources")
    shape = Shape((("document_id", "int"), ("source", "string"), ("extra", "string")), ("source",), {})
    found = discrepancies(contract, shape)
    assert len([line for line in found if "is missing" in line]) == 3
    assert "column document_id is int, the contract says string" in found
    assert "column extra (string) is not in the contract" in found
    assert any("partitioned by" in line for line in found)
    assert any("delta.enableDeletionVectors" in line for line in found)


def test_a_contract_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(DataError, match="do not exist"):
        parse_contract('table = "x"\nversion = 1\ndescription = "d"\nkey = ["nope"]\ncolumns = []')
    with pytest.raises(UsageError, match="known: "):
        load_contract("nope")


@pytest.mark.spark
def test_tables_are_checked_on_write_and_read_and_by_their_constraints(spark: SparkSession, lake: str) -> None:
    store = Lake(spark, lake)
    with pytest.raises(DataError, match="table_missing"):
        store.read("quarantine")
    ensure_tables(lake, ["quarantine"])
    ensure_tables(lake, ["quarantine"])
    assert state(lake, "quarantine") == ("quarantine", 0, 0, 0, 0)
    with pytest.raises(DataError, match="contract_broken") as broken:
        store.append("quarantine", spark.range(1), run={})
    assert str(broken.value).count("\n  - ") == 12
    names = load_contract("quarantine").names
    empty_reason = spark.sql(
        "select 'q' quarantine_id, 's' source, '' member, 0L record, '' reason, 0L line, 0L column, '' message, "
        "cast(null as binary) content, 0L size_bytes, date'2026-11-16' ingest_date"
    ).select(*names)
    with pytest.raises(Exception, match=r"(?i)reason_is_given"):
        store.append("quarantine", empty_reason, run={})
    spark.sql(f"ALTER TABLE delta.`{lake}/quarantine` SET TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')")
    with pytest.raises(DataError, match=r"property delta\.checkpointPolicy is v2, the contract says classic"):
        ensure_tables(lake, ["quarantine"])


def test_a_second_writer_waits_then_fails_cleanly(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom winnow.lake.locks import table_lock\n"
        f"with table_lock({str(tmp_path)!r}, 'documents'):\n  print('held', flush=True)\n  time.sleep(30)"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with (
        pytest.raises(TransientError, match=f"being written by process {holder.pid}"),
        table_lock(str(tmp_path), "documents", wait_seconds=0.2),
    ):
        pass
    with table_lock(str(tmp_path), "profiles", wait_seconds=0.2):
        pass
    holder.kill()
    holder.wait()
    with table_lock(str(tmp_path), "documents", wait_seconds=5):
        pass
