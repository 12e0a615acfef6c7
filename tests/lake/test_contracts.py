"""Contracts: every discrepancy at once, on reading and on writing."""

import datetime as dt
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from conftest import ROOT
from winnow.errors import DataError, TransientError, UsageError
from winnow.ingest.reasons import ProfileReason, Reason
from winnow.lake.contracts import Shape, discrepancies, load_contract, parse_contract, table_names
from winnow.tables.locks import table_lock
from winnow.lake.parts import PartWriter
from winnow.lake.reference import reference
from winnow.lake.store import adopt, ensure_tables, read_rows, state, write_rows


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
    with pytest.raises(DataError, match="table_missing"):
        read_rows(lake, "quarantine")
    ensure_tables(lake, ["quarantine"])
    ensure_tables(lake, ["quarantine"])
    assert state(lake, "quarantine") == ("quarantine", 0, 0, 0, 0)
    date = {"ingest_date": dt.date(2026, 11, 16)}
    with pytest.raises(DataError, match="contract_broken") as broken:
        PartWriter(lake, load_contract("quarantine"), date).write(pa.table({"id": [1]}))
    assert str(broken.value).count("\n  - ") == 11
    row = {"quarantine_id": "q", "source": "s", "member": "", "record": 0, "reason": "", "line": 0, "column": 0}
    row |= {"message": "", "content": None, "size_bytes": 0}
    parts = write_rows(lake, "quarantine", pa.Table.from_pylist([row]), date)
    with pytest.raises(DataError, match="reason_is_given"):
        adopt(lake, "quarantine", parts, date, {})
    assert state(lake, "quarantine") == ("quarantine", 0, 0, 0, 0)
    spark.sql(f"ALTER TABLE delta.`{lake}/quarantine` SET TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')")
    with pytest.raises(DataError, match=r"property delta\.checkpointPolicy is v2, the contract says classic"):
        ensure_tables(lake, ["quarantine"])


def test_the_reference_follows_the_contracts() -> None:
    """`make docs` writes it."""
    assert (ROOT / "infra" / "docs" / "tables.md").read_text() == reference()


def test_a_second_writer_waits_then_fails_cleanly(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom winnow.tables.locks import table_lock\n"
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
