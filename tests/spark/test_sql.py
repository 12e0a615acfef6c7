"""Matching for analysts: SQL, tables of the catalog, and streams."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.spark import build_index, match, register

from .conftest import Frames

pytestmark = pytest.mark.spark


def test_the_table_function(spark: SparkSession, documents_of: Frames, profiles_of: Frames, tmp_path: Path) -> None:
    register(spark)
    build_index(profiles_of(p="/a", q="//b"), str(tmp_path))
    documents_of(x="<a><b/></a>", y="<c/>").createOrReplaceTempView("some_documents")
    found = spark.sql(f"SELECT * FROM winnow_match(TABLE(some_documents), '{tmp_path}') ORDER BY profile_id")
    assert [tuple(row) for row in found.collect()] == [("x", "p", "/a"), ("x", "q", "/a/b[1]")]


@pytest.mark.cluster
def test_tables_of_the_catalog_by_name(spark: SparkSession, documents_of: Frames, profiles_of: Frames) -> None:
    names = ("t_documents", "t_profiles", "t_matches")
    try:
        documents_of(x="<a/>", y="<b/>").write.saveAsTable("t_documents", mode="overwrite")
        profiles_of(p="/a").write.saveAsTable("t_profiles", mode="overwrite")
        match(spark.table("t_documents"), spark.table("t_profiles")).write.saveAsTable("t_matches", mode="overwrite")
        assert [tuple(row) for row in spark.sql("SELECT * FROM t_matches").collect()] == [("x", "p", "/a")]
    finally:
        for name in names:
            spark.sql(f"DROP TABLE IF EXISTS {name}")


def test_a_stream_ends_with_the_table_of_a_batch(
    spark: SparkSession, documents_of: Frames, profiles_of: Frames, tmp_path: Path
) -> None:
    """Each start takes what is new; a start that finds nothing new changes nothing."""
    arrivals, target = str(tmp_path / "arrivals"), str(tmp_path / "matches")
    index = build_index(profiles_of(p="/a", q="/b"), str(tmp_path / "index"))
    for batch in (documents_of(x="<a/>", broken="<a>"), documents_of(y="<b/>", z="<a/>")):
        batch.write.format("delta").mode("append").save(arrivals)
        for _ in range(2):
            found = match(spark.readStream.format("delta").load(arrivals), index, outcomes=True)
            query = (
                found.writeStream.format("delta")
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .trigger(availableNow=True)
                .start(target)
            )
            assert query.awaitTermination(120)
    expected = match(spark.read.format("delta").load(arrivals), index, outcomes=True)
    streamed = spark.read.format("delta").load(target)
    assert sorted(map(str, streamed.collect())) == sorted(map(str, expected.collect()))
    assert streamed.count() == 4
