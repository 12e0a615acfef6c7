"""What is forgotten is in no file of the lake any more, and nothing else has changed."""

import datetime as dt
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from jobs.lakes import FIRST, SECOND, answers, published, reference, rows, run
from jobs.slow import nightly
from winnow.cli.main import main
from winnow.errors import UsageError
from winnow.jobs import audit_matches, forget, maintain
from winnow.jobs import run as pipeline
from winnow.query import deliver
from winnow.report.write import write
from winnow.tables import Lake, contract, table_names

pytestmark = pytest.mark.spark
_WORD = re.compile(rb"[A-Za-z0-9 .-]{8,}")


def commits(lake: Lake) -> dict[str, int]:
    return {log.parent.name: len(list(log.glob("*.json"))) for log in lake.folder.glob("*/_delta_log")}


def vacuum(spark: SparkSession, lake: Lake, before: Mapping[str, int]) -> None:
    """As `winnow maintain` does it once the retention is over, of the tables that have changed; what came into arrivals
    has gone from there before.
    """
    settings = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",  # VACUUM lists in so many tasks: 10,000
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        for name, count in commits(lake).items():
            if name == "arrivals" or count > before.get(name, 0):
                lake.open(spark).vacuum(name, 0)
    finally:
        for name in settings:
            spark.conf.unset(name)


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file, as it is; of Parquet also what it says when it is read."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes()
            if path.suffix == ".parquet":
                told = [value for column in pq.read_table(path).columns for value in column.to_pylist()]
                yield path, b"\n".join(v if isinstance(v, bytes) else str(v).encode() for v in told)


def places(folder: Path, needles: set[bytes]) -> list[str]:
    return [f"{path}: {needle!r}" for path, text in contents(folder) for needle in needles if needle in text]


def own_words(lake: Lake, document_id: str) -> set[bytes]:
    """Texts of a document that no other one has, nor any profile."""
    contents = {str(row["document_id"]): row["content"] for row in rows(lake, "documents")}
    others = [content for name, content in contents.items() if name != document_id]
    others += [str(row["xpath"]).encode() for row in rows(lake, "profiles")]
    others += [row["content"] for row in rows(lake, "quarantine") if row["content"]]
    found = set(_WORD.findall(contents[document_id]))  # type: ignore[call-overload]
    return {word for word in found if not any(word in text for text in others)}  # type: ignore[operator]


def test_a_document_is_in_no_file_any_more(
    spark: SparkSession, lake_copy: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = str(rows(lake_copy, "matches")[0]["document_id"])
    (stored,) = (row for row in rows(lake_copy, "documents") if row["document_id"] == chosen)
    date = stored["ingest_date"]
    assert isinstance(date, dt.date)
    needles = {chosen.encode(), stored["content"], *own_words(lake_copy, chosen)}  # type: ignore[arg-type]
    assert len(needles) > 2
    write(lake_copy, date)
    deliver.run(deliver.Config(lake=lake_copy, date=date, folder=tmp_path / "sent"))
    assert places(lake_copy.folder, needles)
    assert places(tmp_path / "sent", {chosen.encode()})
    committed = commits(lake_copy)
    before = {
        name: rows(lake_copy, name) for name in forget.tables_of_documents() if (lake_copy.folder / name).is_dir()
    }
    words = ["forget", "--lake", str(lake_copy.folder), "--document", chosen, "--deliveries", str(tmp_path / "sent")]

    assert main([*words, "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "1 documents" in told
    assert "nothing was changed" in told
    assert {name: rows(lake_copy, name) for name in before} == before

    assert main(words) == 0
    assert "makes it final" in capsys.readouterr().out
    for name, old in before.items():
        kept = [row for row in old if row["document_id"] != chosen]
        assert sorted(rows(lake_copy, name), key=str) == sorted(kept, key=str), name
    sent = Counter((row["match_date"], row["destination"]) for row in rows(lake_copy, "matches") if row["destination"])
    assert {(row["match_date"], row["destination"]): row["matches"] for row in rows(lake_copy, "deliveries")} == sent
    (done,) = rows(lake_copy, "forgotten")
    assert (done["asked_by"], done["documents"], done["before"]) == ("document", 1, None)
    assert not places(tmp_path / "sent", needles)
    vacuum(spark, lake_copy, committed)
    assert not places(lake_copy.folder, needles)

    again = forget.run(spark, forget.Config(lake=lake_copy, document=chosen))
    assert again.counts == {"documents": 0, "dates": 0}
    assert len(rows(lake_copy, "forgotten")) == 1


def test_a_source_and_what_was_refused_of_it(spark: SparkSession, lake_copy: Lake) -> None:
    refused = rows(lake_copy, "quarantine")
    folder = str(Path(str(refused[0]["source"])).parent)
    report = forget.run(spark, forget.Config(lake=lake_copy, source=folder))
    assert report.counts["rows of quarantine"] == sum(str(row["source"]).startswith(folder) for row in refused)
    assert not [row for row in rows(lake_copy, "document_sources") if str(row["source"]).startswith(f"{folder}/")]
    left = {row["document_id"] for row in rows(lake_copy, "documents")}
    assert {row["document_id"] for row in rows(lake_copy, "matches")} <= left
    assert published(lake_copy) == reference(lake_copy)


def test_what_is_asked_for_is_one_thing(spark: SparkSession, lake_copy: Lake) -> None:
    with pytest.raises(UsageError, match="forget_what"):
        forget.run(spark, forget.Config(lake=lake_copy))
    with pytest.raises(UsageError, match="forget_what"):
        forget.run(spark, forget.Config(lake=lake_copy, source="/x", before=SECOND))


def test_every_table_that_names_documents_is_looked_at() -> None:
    """A table with another way to name a document, or to quote one, has to be thought of."""
    quoting = {"quarantine", "selectivity", "quality_results"}  # handled by name
    counting = {"deliveries"}
    other_sources = {"rejected_profiles"}  # where a profile was seen
    for name in table_names():
        columns = {*contract(name).names}
        if columns & {"content", "values", "value", "message", "source"} - {"value" if name == "run_metrics" else ""}:
            known = {*forget.tables_of_documents(), *quoting, *counting, *other_sources, "profile_patterns"}
            assert name in known, f"{name} may hold what is forgotten"


@nightly
def test_a_date_goes_and_the_pipeline_goes_on(spark: SparkSession, lake_copy: Lake) -> None:
    before = answers(lake_copy)
    report = forget.run(spark, forget.Config(lake=lake_copy, before=SECOND))
    assert report.counts["documents"] > 0
    assert {row["match_date"] for row in rows(lake_copy, "matches")} == {SECOND}
    assert not [row for row in rows(lake_copy, "documents") if row["ingest_date"] == FIRST]

    def gate(date: dt.date, run_id: str) -> object:
        return audit_matches.run(spark, audit_matches.Config(lake=lake_copy, date=date, run_id=run_id))

    config = pipeline.Config(lake=lake_copy, dates=(FIRST, SECOND), run_id=pipeline.new_run_id("after"), full=True)
    assert list(pipeline.run(spark, config, gate))  # type: ignore[arg-type]
    assert published(lake_copy) == reference(lake_copy)
    assert answers(lake_copy) != before
    run(spark, lake_copy, SECOND)


@nightly
def test_the_log_forgets_too(spark: SparkSession, lake_copy: Lake) -> None:
    """It holds the lowest and highest values of files, cut to 32 characters, until its own retention is over."""
    chosen = min(str(row["document_id"]) for row in rows(lake_copy, "documents"))
    needles = {chosen[:32].encode(), *own_words(lake_copy, chosen)}
    committed = commits(lake_copy)
    forget.run(spark, forget.Config(lake=lake_copy, document=chosen))
    vacuum(spark, lake_copy, committed)
    old = time.time() - 40 * 24 * 3600
    for path in lake_copy.folder.rglob("_delta_log/*"):
        os.utime(path, (old, old))
    tables = lake_copy.open(spark)
    for name in table_names():
        if tables.exists(name):
            for interval in ("1", "1", "10"):
                properties = f"SET TBLPROPERTIES ('delta.checkpointInterval' = '{interval}')"
                spark.sql(f"ALTER TABLE {lake_copy.table(name)} {properties}")
    assert not places(lake_copy.folder, needles)


@nightly
def test_maintenance_follows_a_retention(spark: SparkSession, lake_copy: Lake) -> None:
    days = (dt.date.today() - SECOND).days
    words = ["maintain", "--lake", str(lake_copy.folder), "--table", "documents"]
    assert main([*words, "--forget-after-days", str(days)]) == 0
    assert {row["ingest_date"] for row in rows(lake_copy, "documents")} == {SECOND}
    assert maintain.RETENTION_HOURS == 720
