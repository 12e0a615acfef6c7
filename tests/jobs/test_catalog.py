"""A lake in a schema of a catalog: its tables by name, for jobs and for whoever else asks the catalog."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.servers import connect_server
from winnow.errors import UsageError
from winnow.generate.sample import write_sample
from winnow.query.lookup import reasons_of
from winnow.query.matches import sql
from winnow.query.stored_tables import table_states
from winnow.tables import Lake, contract

from .lakes import FIRST, SECOND, contents, declare_for_desks, ingest_two_dates, run
from .slow import nightly

pytestmark = pytest.mark.spark
SCHEMA = "spark_catalog.winnow_jobs"
LOCATE = """
import json, sys
from winnow.tables import Lake
from winnow.tables.session import open_session
print(json.dumps(Lake(sys.argv[2]).open(open_session(master=sys.argv[1])).located().table_places))
"""


@pytest.fixture
def catalog(spark: SparkSession, tmp_path: Path) -> Iterator[Lake]:
    yield Lake(SCHEMA, index_place=str(tmp_path / "index"))
    spark.sql(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")


@nightly
def test_tables_by_name_are_those_of_a_folder(spark: SparkSession, catalog: Lake, published_lake: Lake) -> None:
    inputs = published_lake.folder.parent  # the names of files are in the tables
    ingest_two_dates(spark, catalog, inputs, documents=40)
    declare_for_desks(spark, catalog, inputs)
    run(spark, catalog, FIRST, SECOND)

    # Whoever looks finds what the contracts say.
    wanted = contract("matches")
    described = spark.sql(f"DESCRIBE TABLE EXTENDED {SCHEMA}.matches").collect()
    comments = {row["col_name"]: row["comment"] for row in described[: len(wanted.columns)]}
    assert comments == {column.name: column.description for column in wanted.columns}
    assert wanted.description in [row["data_type"] for row in described if row["col_name"] == "Comment"]
    properties = {row["key"]: row["value"] for row in spark.sql(f"SHOW TBLPROPERTIES {SCHEMA}.matches").collect()}
    assert wanted.all_properties.items() <= properties.items()

    # delta-rs and DuckDB know no catalog: a session says where the tables are.
    with pytest.raises(UsageError, match="needs_session"):
        list(table_states(catalog))
    located = catalog.open(spark).located()
    assert contents(located) == contents(published_lake)
    assert {row.table for row in table_states(located)} == {row.table for row in table_states(published_lake)}
    assert reasons_of(located, "quarantine") == reasons_of(published_lake, "quarantine")
    count = "SELECT count(*) FROM matches"
    assert sql(located, count).read_all() == sql(published_lake, count).read_all()


@nightly
def test_a_persistent_catalog_by_commands(
    published_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All commands on a schema by name; another server on the same metastore finds what they have left."""
    lake = Lake("spark_catalog.winnow", index_place=str(tmp_path / "index"))
    monkeypatch.setenv("WINNOW_INDEX_PLACE", lake.index_place)
    inputs = published_lake.folder.parent
    sample = write_sample(inputs / "sample", documents=40)
    wanted = contents(published_lake)
    expected = wanted["matches"][0]
    interval = ("--from", str(FIRST), "--to", str(SECOND))

    with connect_server(tmp_path, settings=metastore(tmp_path)) as server:

        def winnow(*words: str) -> str:
            command = [sys.executable, "-m", "winnow.cli.main", *words, "--lake", lake.location, "--master", server]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            return done.stdout

        winnow("ingest", "documents", str(sample.documents), "--date", str(FIRST))
        winnow("ingest", "documents", str(sample.container), "--record-tag", "trade", "--date", str(SECOND))
        winnow("ingest", "profiles", str(inputs / "profiles.jsonl"))
        told = winnow("run", *interval)
        assert f"report: {lake.index_place}/_reports/" in told
        assert (tmp_path / "index" / "_reports" / f"{FIRST}.html").is_file()
        status = winnow("status")
        assert f"{expected:,} rows" in next(line for line in status.splitlines() if line.split()[:1] == ["matches"])
        assert "records in quarantine" in status
        found = winnow("query", "--limit", "1", "--format", "jsonl")
        document, profile = (json.loads(found)[name] for name in ("document_id", "profile_id"))
        assert json.loads(winnow("query", "--sql", "SELECT count(*) AS n FROM matches", "--json")) == {"n": expected}
        assert winnow("explain", "--document", document, "--profile", profile).startswith("matches")
        winnow("deliver", "--date", str(FIRST), "--output", str(tmp_path / "sent"))
        assert len(list((tmp_path / "sent" / str(FIRST)).glob("*.jsonl"))) == 3
        winnow("report", "--date", str(SECOND))
        winnow("backfill", *interval, "--dry-run")
        assert "1 documents" in winnow("forget", "--document", document, "--dry-run")
        winnow("maintain", "--table", "matches")

    with connect_server(tmp_path, settings=metastore(tmp_path)) as server:
        another = subprocess.run([sys.executable, "-c", LOCATE, server, lake.location], capture_output=True, check=True)
        assert contents(replace(lake, table_places=json.loads(another.stdout))) == wanted


def metastore(folder: Path) -> dict[str, str]:
    """Settings of a Hive metastore in a folder, which is kept by Derby, for one server at a time."""
    return {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
    }


def test_index_files_want_a_place_of_their_own(spark: SparkSession, published_lake: Lake) -> None:
    with pytest.raises(UsageError, match="WINNOW_INDEX_PLACE"):
        _ = Lake("main.eu.winnow").index_location
