"""Queries read the tables of the lake: nothing is written, and no file can be named."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from jobs.lakes import FIRST, rows
from winnow.cli.main import main
from winnow.errors import UsageError
from winnow.query import matches as query
from winnow.query.database import connect
from winnow.tables import Lake, contract

pytestmark = pytest.mark.spark

visible_to_sql = pa.table({"a": [1]})  # a variable that no query may read

# FILE is a data file of matches, OUT a file that is not there. None may be read, made or changed.
HOSTILE = """
DROP VIEW matches
DELETE FROM matches
UPDATE matches SET source = ''
INSERT INTO matches SELECT * FROM matches
CREATE TABLE t AS SELECT 1
CREATE TEMP VIEW t AS SELECT 1
CREATE MACRO f() AS TABLE SELECT * FROM read_text('/etc/passwd')
ALTER TABLE matches RENAME TO t
COPY matches TO 'OUT'
COPY (SELECT 1 AS a) TO 'FILE' (FORMAT parquet)
COPY (SELECT 1 AS a) TO 'LAKE/matches/match_date=2026-11-15/x.parquet'
SELECT 1; COPY (SELECT 1 AS a) TO 'FILE' (FORMAT parquet)
SELECT 1; SELECT 2
EXPORT DATABASE 'OUT'
IMPORT DATABASE '/etc'
ATTACH 'OUT'
ATTACH 'OUT' AS x (READ_ONLY)
DETACH memory
USE memory
SET enable_external_access = true
SET lock_configuration = false
SET VARIABLE x = 1
RESET allowed_paths
PRAGMA enable_profiling
PRAGMA version
PRAGMA import_database('/etc')
PRAGMA copy_database('memory', 'temp')
CALL enable_logging(storage = 'file', storage_path = 'OUT')
CHECKPOINT
VACUUM
BEGIN
INSTALL httpfs
LOAD httpfs
PREPARE q AS SELECT 1
EXECUTE q
CREATE SECRET s (TYPE s3)
EXPLAIN ANALYZE COPY matches TO 'OUT'
WITH t AS (DELETE FROM matches RETURNING *) SELECT * FROM t
SELECT * FROM '/etc/passwd'
SELECT * FROM 'FILE'
FROM 'FILE'
FROM "STEM".parquet
WITH parquet AS (SELECT 1) FROM "STEM".parquet
DESCRIBE 'FILE'
SHOW 'FILE'
SUMMARIZE 'FILE'
SELECT (SELECT count(*) FROM 'FILE')
SELECT 1 WHERE EXISTS (FROM 'FILE')
PIVOT 'FILE' ON profile_version IN (1) USING count(*)
FROM 'https://example.com/x.parquet'
FROM 's3://bucket/x.parquet'
FROM read_csv('/etc/passwd')
FROM Read_Text('/etc/passwd')
FROM system.main.read_text('/etc/passwd')
FROM read_blob('/etc/passwd')
FROM read_json('/etc/passwd')
FROM read_parquet('FILE')
FROM parquet_metadata('FILE')
FROM parquet_scan(['FILE'])
FROM sniff_csv('/etc/passwd')
FROM read_duckdb('/etc/passwd')
FROM glob('/etc/*')
FROM matches, LATERAL read_text(source)
SELECT (FROM read_text('/etc/passwd'))
WITH t AS (FROM read_text('/etc/passwd')) SELECT 1
SUMMARIZE FROM read_text('/etc/passwd')
FROM query('SELECT 1')
FROM query('COPY matches TO ''OUT''')
FROM query_table('FILE')
FROM json_execute_serialized_sql(json_serialize_sql('FROM ''FILE'''))
FROM enable_profiling(save_location = 'OUT', format = 'json'), matches
FROM enable_logging(storage = 'file', storage_path = 'OUT')
FROM force_checkpoint()
FROM duckdb_secrets()
FROM duckdb_settings()
FROM sqlite_scan('OUT', 't')
FROM delta_scan('LAKE/matches')
FROM arrow_scan(1, 2, 3)
FROM histogram('FILE', 'document_id')
SELECT getenv('HOME')
FROM sqlite_master
FROM duckdb_views
FROM Duckdb_Logs
FROM pg_tables
WITH t AS (SELECT 1) SELECT sql FROM sqlite_master
WITH matches AS (FROM sqlite_master) FROM matches
FROM visible_to_sql
FROM pa
SELECT * FROM nowhere
SELECT $1
SELEC
--
;
"""


def listing(folder: str) -> dict[str, tuple[int, int, str]]:
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        about = path.stat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = about.st_size, about.st_mtime_ns, content
    return found


@pytest.mark.parametrize("statement", [*HOSTILE.strip().splitlines(), "", "SELECT '\ud800'"])
def test_everything_but_a_query_of_tables_is_refused(
    published_lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = deltalake.DeltaTable(f"{published_lake.location}/matches").file_uris()[0]
    words = {
        "FILE": file,
        "STEM": file.removesuffix(".parquet"),
        "OUT": f"{tmp_path}/out",
        "LAKE": published_lake.location,
    }
    for word, meaning in words.items():
        statement = statement.replace(word, meaning)
    before = listing(published_lake.location)
    with pytest.raises(UsageError) as refused:
        query.sql(published_lake, statement).read_all()
    assert refused.value.code in {"not_a_query", "not_a_table", "bad_sql"}
    assert refused.value.message
    assert refused.value.hint
    assert "root:" not in str(refused.value)
    assert listing(published_lake.location) == before
    assert listing(str(tmp_path)) == {}


def test_the_connection_itself_opens_data_files_only(published_lake: Lake, tmp_path: Path) -> None:
    """What is not a query would fail, too, if it came so far."""
    file = deltalake.DeltaTable(f"{published_lake.location}/matches").file_uris()[0]
    others = (
        f"{published_lake.location}/matches/_delta_log/{0:020}.json",
        "/etc/passwd",
        f"{Path(file).parent}/*.parquet",
    )
    reads = [f"FROM {name}('{path}')" for path in others for name in ("read_text", "read_csv", "read_blob", "glob")]
    writes = [f"COPY matches TO '{path}'" for path in (tmp_path / "x", f"{published_lake.location}/x", f"{file}.x")]
    settings = ["SET enable_external_access = true", "SET allowed_paths = ['/etc/passwd']", "LOAD httpfs"]
    for statement in (*reads, *writes, *settings, "FROM visible_to_sql"):
        with pytest.raises(duckdb.Error):
            connect(published_lake).execute(statement).fetchall()


def ask(lake: Lake, text: str, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = query.sql(lake, text, **options).read_all().to_pylist()
    return found


def test_queries_are_answered(published_lake: Lake) -> None:
    matches = rows(published_lake, "matches")
    count = [{"n": len(matches)}]
    for text in (
        "SELECT count(*) AS n FROM matches JOIN documents USING (document_id)",
        "with m as (from matches) select count(*) as n from m;",
        "FROM matches SELECT count(*) AS n -- all of them",
        'SELECT count(*) AS n FROM "Matches" m, unnest([1]), range(1) WHERE m.match_date IS NOT NULL',
        "WITH M AS (SELECT 1 AS a), recursive AS (FROM m) SELECT count(*) AS n FROM MATCHES, m, recursive",
        "SELECT (WITH k AS (SELECT count(*) AS n FROM matches) SELECT n FROM k) AS n",
        "SELECT sum(n)::BIGINT AS n FROM (SELECT count(*) AS n FROM matches GROUP BY match_date, destination)",
    ):
        assert ask(published_lake, text) == count
    by_version = ask(published_lake, "PIVOT (SELECT profile_version AS v FROM matches) ON v IN (1) USING count(*)")
    assert by_version == [{"1": len(matches)}]
    first = ask(published_lake, f"SELECT * FROM matches WHERE match_date = DATE '{FIRST}' ORDER BY ALL")
    assert {(row["document_id"], row["profile_id"]) for row in first} == {
        (row["document_id"], row["profile_id"]) for row in matches if row["match_date"] == FIRST
    }
    columns = [row["column_name"] for row in ask(published_lake, "DESCRIBE matches")]
    assert columns == contract("matches").names
    assert {"name": "matches"} in ask(published_lake, "SHOW TABLES")
    assert len(ask(published_lake, "SUMMARIZE matches")) == len(columns)
    assert ask(published_lake, "SELECT 'a.b' AS t, m.* FROM matches m LIMIT 0") == []


def test_an_empty_table_is_a_table(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path / "lake"))
    lake.open(spark).create("matches", "undecided")
    assert ask(lake, "SELECT count(*) AS n FROM matches, undecided") == [{"n": 0}]
    assert ask(lake, "SELECT * FROM matches WHERE match_date = DATE '2026-11-15'") == []


def test_rows_that_were_deleted_are_gone(lake_copy: Lake) -> None:
    table = deltalake.DeltaTable(f"{lake_copy.location}/matches")
    published, before = table.version(), len(rows(lake_copy, "matches"))
    table.delete("destination = 'desk/0'")
    after = len(rows(lake_copy, "matches"))
    assert 0 < after < before
    count = "SELECT count(*) AS n FROM matches"
    assert ask(lake_copy, count) == [{"n": after}]
    assert ask(lake_copy, count, version=published) == [{"n": before}]
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert ask(lake_copy, count) == [{"n": after}]
    with pytest.raises(UsageError, match="version_removed"):
        ask(lake_copy, count, version=published)


@pytest.mark.parametrize("name", ["it's", "a*b"])  # DuckDB takes the second for a pattern, so Arrow reads it
def test_a_lake_may_have_any_name(published_lake: Lake, tmp_path: Path, name: str) -> None:
    lake = Lake(str(shutil.copytree(published_lake.folder, tmp_path / name)))
    query_text = "SELECT * FROM matches ORDER BY ALL"
    assert ask(lake, query_text) == ask(published_lake, query_text) != []


def test_time_travel(published_lake: Lake) -> None:
    assert ask(published_lake, "SELECT DISTINCT match_date FROM matches", version=1) == [{"match_date": FIRST}]
    with pytest.raises(UsageError, match="no version"):
        query.matches(published_lake, {}, version=999)


def test_query_by_everything(published_lake: Lake) -> None:
    all_rows = rows(published_lake, "matches")
    for name, column in query.FILTERS.items():
        value = all_rows[0][column]
        found = query.matches(published_lake, {name: value}).read_all().to_pylist()
        assert {(r["document_id"], r["profile_id"]) for r in found} == {
            (r["document_id"], r["profile_id"]) for r in all_rows if r[column] == value
        }
    both = {"date": FIRST, "profile": next(row["profile_id"] for row in all_rows if row["match_date"] == FIRST)}
    found = query.matches(published_lake, both).read_all().to_pylist()
    assert {row["match_date"] for row in found} == {FIRST}


def test_only_the_rows_that_are_wanted_are_made(published_lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    endless = "SELECT range AS n FROM range(1000000000000)"
    assert [row["n"] for row in ask(published_lake, endless, limit=2500)] == list(range(2500))
    for form, lines in (("jsonl", ['{"n": 0}', '{"n": 1}']), ("csv", ["n", "0", "1"]), ("table", ["n", "0", "1"])):
        arguments = ["query", "--lake", published_lake.location, "--limit", "2", "--format", form, "--sql", endless]
        assert main(arguments) == 0
        assert capsys.readouterr().out.splitlines()[: len(lines)] == lines
    assert main(["query", "--lake", published_lake.location, "--sql", ""]) == 2
    assert json.loads(capsys.readouterr().err.splitlines()[-1])["winnow_error"]["code"] == "not_a_query"


INTERRUPTED = """
import os, signal, sys, threading
from winnow.cli.main import main
threading.Timer(4, os.kill, (os.getpid(), signal.SIGINT)).start()
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "text",
    [
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x",
        "SELECT range FROM range(1000000000000) WHERE range < 500000 OR hash(range) = 1",  # rows, then a long silence
    ],
)
def test_an_endless_query_can_be_interrupted(published_lake: Lake, text: str) -> None:
    arguments = ["query", "--lake", published_lake.location, "--format", "csv", "--sql", text]
    command = [sys.executable, "-c", INTERRUPTED, *arguments]
    ended = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr[:20]) == (130, "winnow: interrupted;")
