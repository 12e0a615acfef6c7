"""Tables of a lake, by path and in a catalog: made from contracts, read at versions, written exactly once."""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from checksums import by_delta_rs, by_duckdb, by_spark
from winnow.errors import DataError, TransientError
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_small

pytestmark = pytest.mark.spark
DAY, NEXT = dt.date(2026, 11, 15), dt.date(2026, 11, 16)


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return Lake(str(tmp_path / "it's a lake")).open(spark)


def paths(spark: SparkSession, *ids: int) -> DataFrame:
    rows = [(number, 0, f"l{number}", f"/l{number}", 1) for number in ids]
    return spark.createDataFrame(rows, contract("paths").row_type)


def undecided(spark: SparkSession, date: dt.date, *ids: str) -> DataFrame:
    rows = [(name, "p", 1, "too_slow", "gave up", "run", date) for name in ids]
    return spark.createDataFrame(rows, contract("undecided").row_type)


def ids(tables: Tables, name: str, column: str) -> list[object]:
    return sorted(row[0] for row in read_small(tables.read(name).select(column)))


def test_a_table_is_made_from_its_contract(tables: Tables) -> None:
    tables.create("paths", "undecided")
    about = {row.col_name: row for row in tables.spark.sql(f"DESCRIBE {tables.lake.table('paths')}").collect()}
    assert {row.col_name: row.comment for row in about.values()} == {
        column.name: column.description for column in contract("paths").columns
    }
    rows = tables.spark.createDataFrame([(1, 0, "a", "/a", 0)], contract("paths").row_type)
    with pytest.raises(Exception, match="depth_is_positive"):
        tables.append("paths", rows, Transaction("test"))


def test_two_first_writers_make_one_table(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: lake.open(spark).create("paths"), range(4)))
    assert lake.open(spark).version("paths") == 0


Append = Callable[[Tables, str, DataFrame], int]
WAYS = pytest.mark.parametrize("append", [Tables.append_new, Tables.append_unknown])


@WAYS
def test_only_new_keys_are_added(tables: Tables, append: Append) -> None:
    assert append(tables, "paths", paths(tables.spark, 1, 2)) == 2
    assert append(tables, "paths", paths(tables.spark, 2, 3)) == 1
    assert append(tables, "paths", paths(tables.spark, 1)) == 0
    assert ids(tables, "paths", "path_id") == [1, 2, 3]


@WAYS
def test_two_writers_of_one_key_add_it_once(tables: Tables, append: Append) -> None:
    tables.create("paths")
    with ThreadPoolExecutor(4) as threads:
        counts = threads.map(lambda k: append(tables, "paths", paths(tables.spark, 1, 10 + k)), range(4))
    assert sum(counts) == 5
    assert ids(tables, "paths", "path_id") == [1, 10, 11, 12, 13]


def test_who_has_not_seen_the_newest_keys_adds_nothing(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Delta alone decides, as between two writers that share no lock."""
    tables.create("paths", "undecided")
    assert tables.append_after("paths", 0, paths(tables.spark, 1)) == 1
    with pytest.raises(TransientError, match="table_moved"):
        tables.append_after("paths", 0, paths(tables.spark, 1))
    looked, unseen = Tables._additions, [{"": 0}]  # the first look misses what the other one has committed
    monkeypatch.setattr(Tables, "_additions", lambda *look: {} if unseen and unseen.pop() else looked(*look))
    with pytest.raises(TransientError, match="table_moved"):
        tables.append_after("paths", 0, paths(tables.spark, 1))
    monkeypatch.undo()
    assert tables.append_after("paths", 1, paths(tables.spark).limit(0)) == 0
    assert ids(tables, "paths", "path_id") == [1]
    assert tables.append_after("undecided", 0, undecided(tables.spark, DAY, "a"), interval=DAY) == 1
    assert tables.append_after("undecided", 0, undecided(tables.spark, NEXT, "a"), interval=NEXT) == 1


def test_a_write_is_made_once(tables: Tables) -> None:
    for _ in range(2):
        tables.append("paths", paths(tables.spark, 1), Transaction("first"))
        tables.replace_interval("undecided", undecided(tables.spark, DAY, "a"), DAY, Transaction("day"))
    tables.append("paths", paths(tables.spark, 2), Transaction("second"))
    assert ids(tables, "paths", "path_id") == [1, 2]
    assert (tables.version("paths"), tables.version("undecided")) == (2, 1)


def test_an_interval_is_replaced_and_others_stay(tables: Tables) -> None:
    for number, (date, *names) in enumerate([(DAY, "a", "b"), (NEXT, "c"), (DAY, "d")]):
        tables.replace_interval("undecided", undecided(tables.spark, date, *names), date, Transaction("x", number + 1))
    assert ids(tables, "undecided", "document_id") == ["c", "d"]
    assert [row[0] for row in tables.read("undecided", interval=NEXT).select("document_id").collect()] == ["c"]
    assert tables.read("undecided", version=1).count() == 2
    tables.replace_interval("undecided", undecided(tables.spark, DAY).limit(0), DAY, Transaction("x", 9))
    assert ids(tables, "undecided", "document_id") == ["c"]


def test_what_does_not_fit_is_listed(tables: Tables) -> None:
    wrong = paths(tables.spark, 1).drop("depth").withColumnRenamed("label", "tag").selectExpr("*", "1 AS n")
    with pytest.raises(DataError, match=r"(?s)column label \(string\) is missing.*depth.*column tag.*column n"):
        tables.append_new("paths", wrong)


def test_a_table_of_another_layout_is_refused(tables: Tables) -> None:
    tables.spark.sql(f"CREATE TABLE {tables.lake.table('paths')} (path_id long, symbol int) USING DELTA")
    with pytest.raises(DataError, match=r"(?s)contract_broken.*label.*is missing.*symbol.*is not in the contract"):
        tables.read("paths")


def test_a_missing_table_is_said(tables: Tables) -> None:
    with pytest.raises(DataError, match="table_missing"):
        tables.read("paths")


def test_only_few_rows_come_to_the_driver(spark: SparkSession) -> None:
    assert len(read_small(spark.range(5), 5)) == 5
    with pytest.raises(DataError, match="not_small"):
        read_small(spark.range(6), 5)


def test_tables_of_a_catalog_schema(spark: SparkSession) -> None:
    tables = Lake.at("spark_catalog.winnow_tables").open(spark)
    try:
        assert tables.append_new("paths", paths(spark, 1, 2)) == 2
        assert tables.append_new("paths", paths(spark, 2, 3)) == 1
        tables.replace_interval("undecided", undecided(spark, DAY, "a"), DAY, Transaction("x"))
        assert spark.table("spark_catalog.winnow_tables.paths").count() == 3
        assert tables.read("paths", version=1).count() == 2
    finally:
        spark.sql("DROP SCHEMA IF EXISTS spark_catalog.winnow_tables CASCADE")


def test_everybody_reads_the_same(tables: Tables) -> None:
    tables.append_new("paths", paths(tables.spark, *range(100)))
    place = f"{tables.lake.location}/paths"
    assert by_spark(tables.spark, place) == by_delta_rs(place) == by_duckdb(place)
