"""Contracts: every discrepancy at once, where people look, and which lakes are refused."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conftest import ROOT
from winnow.cli.main import main
from winnow.errors import DataError, TransientError, UsageError
from winnow.ingest.reasons import ProfileReason, Reason
from winnow.query.stored_tables import open_table
from winnow.tables import Lake, contract, table_names
from winnow.tables.contract import VERSION_PROPERTY, parse_contract
from winnow.tables.locks import table_lock
from winnow.tables.reference import reference


def test_all_contracts_load_and_describe_themselves() -> None:
    assert {"documents", "document_sources", "quarantine", "profiles", "rejected_profiles"} <= set(table_names())
    for table in table_names():
        wanted = contract(table)
        assert wanted.table == table
        assert wanted.description
        assert wanted.key
        assert all(column.description for column in wanted.columns)


def test_reason_codes_are_documented_where_people_look() -> None:
    def words(table: str) -> str:
        return next(column.description for column in contract(table).columns if column.name == "reason")

    assert all(reason in words("quarantine") for reason in Reason)
    assert all(reason in words("rejected_profiles") for reason in ProfileReason)


def test_discrepancies_are_listed_at_once() -> None:
    found = contract("document_sources").discrepancies({"document_id": "int", "source": "string", "extra": "string"})
    assert len([line for line in found if "is missing" in line]) == 3
    assert "column document_id is int, the contract says string" in found
    assert "column extra (string) is not in the contract" in found


def test_a_contract_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(DataError, match="do not exist"):
        parse_contract('table = "x"\nversion = 1\ndescription = "d"\nkey = ["nope"]\ncolumns = []')
    with pytest.raises(UsageError, match="known: "):
        contract("nope")


def test_the_reference_follows_the_contracts() -> None:
    """`make docs` writes it."""
    assert (ROOT / "infra" / "docs" / "tables.md").read_text() == reference()


@pytest.mark.spark
def test_a_lake_of_an_older_layout_is_refused_and_not_misread(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Lake(str(tmp_path / "old"))
    make_table(spark, lake, "document_id string, internal_subset boolean", version=1)
    for read in (lambda: lake.open(spark).exists("documents"), lambda: open_table(lake, "documents")):
        with pytest.raises(DataError, match="version 1 of the contract documents") as refused:
            read()
        assert refused.value.code == "older_layout"
        assert "ingest the documents and profiles again" in str(refused.value.hint)
    assert main(["status", "--lake", lake.location]) == DataError.exit_code
    assert "older Winnow" in capsys.readouterr().err
    own = Lake(str(tmp_path / "own"))
    make_table(spark, own, "document_id string, internal_subset boolean", version=contract("documents").version)
    with pytest.raises(DataError, match=r"contract_broken.*does not fit the contract"):
        own.open(spark).exists("documents")


def make_table(spark: SparkSession, lake: Lake, columns: str, *, version: int) -> None:
    properties = f"'{VERSION_PROPERTY}' = '{version}'"
    spark.sql(f"CREATE TABLE {lake.table('documents')} ({columns}) USING DELTA TBLPROPERTIES ({properties})")


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
