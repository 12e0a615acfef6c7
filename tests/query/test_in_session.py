"""A catalog's tables are asked by name, in a session."""

import datetime as dt
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from winnow.errors import UsageError
from winnow.query import in_session
from winnow.query.stored_tables import open_table
from winnow.tables import Lake, Tables, Transaction, contract

pytestmark = pytest.mark.spark
DAY = dt.date(2026, 11, 16)


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[Tables]:
    tables = Lake("spark_catalog.winnow_asked").open(spark)
    values = {
        "source": "a.xml",
        "profile_version": 1,
        "subscriber": "s",
        "witness": "/a",
        "run_id": "r",
        "match_date": DAY,
    }
    rows = [
        {**values, "document_id": document * 64, "profile_id": profile, "destination": f"to-{profile}"}
        for document in "ba"
        for profile in ("p2", "p1")
    ]
    frame = spark.createDataFrame(rows, contract("matches").row_type)
    tables.append("matches", frame, Transaction("test"))
    yield tables
    spark.sql("DROP SCHEMA spark_catalog.winnow_asked CASCADE")


def test_matches_and_states_of_a_catalog(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    (state,) = in_session.table_states(tables)
    assert (state.table, state.rows) == ("matches", 4)
    assert state.version == tables.version("matches")
    every = in_session.matches(tables, {}).read_all().to_pylist()
    assert [(row["document_id"][0], row["profile_id"]) for row in every] == [
        ("a", "p1"),
        ("a", "p2"),
        ("b", "p1"),
        ("b", "p2"),
    ]
    chosen = {"destination": "to-p1", "match_date": DAY}
    assert in_session.matches(tables, chosen).read_all().num_rows == 2
    assert in_session.matches(tables, chosen, limit=1).read_all().num_rows == 1
    assert in_session.matches(tables, {"profile_id": "none"}).read_all().num_rows == 0
    monkeypatch.setattr(in_session, "MAX_SHOWN", 3)
    with pytest.raises(UsageError, match="--limit"):
        in_session.matches(tables, {})
    with pytest.raises(UsageError, match="session"):
        open_table(tables.lake, "matches")
