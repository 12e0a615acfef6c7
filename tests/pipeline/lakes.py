"""A small lake of two dates, its reference answers, and what "the same answers" means."""

import datetime as dt
import json
import shutil
from pathlib import Path

import deltalake
import pyarrow as pa
from lxml import etree
from pyspark.sql import SparkSession
from winnow.pipeline import ingest_documents, ingest_profiles
from winnow.pipeline import run as pipeline

from checksums import Checksum, checksum
from winnow.generate.sample import write_sample
from winnow.jobs.report import RunReport

FIRST, SECOND = dt.date(2026, 11, 15), dt.date(2026, 11, 16)
SOURCES = {"documents", "document_sources", "quarantine", "profiles", "rejected_profiles"}
DESKS = ("desk/0", "../etc/passwd", "etc-passwd-7fef78f5")  # destinations; the last two once shared a file name
Pairs = set[tuple[str, str]]


def ingest_two_dates(spark: SparkSession, lake: str, folder: Path, documents: int = 60) -> None:
    sample = write_sample(folder / "sample", documents=documents)
    for date, path, tag in ((FIRST, sample.documents, None), (SECOND, sample.container, "trade")):
        ingest(spark, lake, date, path, tag)


def ingest(spark: SparkSession, lake: str, date: dt.date, path: Path, tag: str | None = None) -> None:
    config = ingest_documents.Config(lake=lake, paths=(str(path),), date=date, record_tag=tag)
    ingest_documents.run(spark, config)


def declare(lake: str, folder: Path, profiles: list[dict[str, object]]) -> None:
    file = folder / "profiles.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in profiles))
    ingest_profiles.run(ingest_profiles.Config(lake=lake, file=str(file), retire_missing=True))


def run(spark: SparkSession, lake: str, *dates: dt.date, **options: object) -> dict[str, RunReport]:
    config = pipeline.Config(lake=lake, dates=dates, run_id="test", **options)  # type: ignore[arg-type]
    return {report.job: report for report in pipeline.run(spark, config)}


def rows(lake: str, table: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = deltalake.DeltaTable(f"{lake}/{table}").to_pyarrow_table().to_pylist()
    return found


def published(lake: str) -> Pairs:
    found = [(str(row["document_id"]), str(row["profile_id"])) for row in rows(lake, "matches")]
    assert len(found) == len(set(found))
    return set(found)


def reference(lake: str) -> Pairs:
    """What libxml2 says of every document and every active profile that is valid on the document's date."""
    trees = [(r["document_id"], r["ingest_date"], etree.fromstring(r["content"])) for r in rows(lake, "documents")]
    pairs = set()
    for profile in rows(lake, "profiles"):
        if profile["state"] != "active":
            continue
        try:
            xpath = etree.XPath(f"boolean({profile['xpath']})", namespaces=dict(profile["namespaces"]) or None)
        except etree.XPathSyntaxError:
            continue
        first, last = profile["valid_from"] or dt.date.min, profile["valid_to"] or dt.date.max
        pairs |= {
            (str(name), str(profile["profile_id"])) for name, day, tree in trees if first <= day < last and xpath(tree)
        }
    return pairs


def answers(lake: str) -> dict[str, Checksum]:
    """Checksums of the result tables, without what names the run and not the answer."""
    meta = {"run_id", "matches_version", "staged_version", "batch"}
    found = {}
    for table in ("matches", "deliveries", "ledger"):
        content: pa.Table = deltalake.DeltaTable(f"{lake}/{table}").to_pyarrow_table()
        if table == "ledger":
            content = content.group_by(["match_date", "profile_set"]).aggregate([("documents", "sum")])
        if table == "deliveries":  # a row for each publication; together they are what is to be sent
            content = content.group_by(["match_date", "destination"]).aggregate([("matches", "sum")])
        found[table] = checksum(content.drop([name for name in meta if name in content.column_names]))
    return found


def from_scratch(
    spark: SparkSession, lake: str, target: Path, *dates: dt.date, **options: object
) -> dict[str, Checksum]:
    """The answers of a new lake that has only the same documents and profiles."""
    shutil.rmtree(target, ignore_errors=True)
    for table in SOURCES:
        if Path(lake, table).is_dir():
            shutil.copytree(Path(lake, table), target / table)
    run(spark, str(target), *dates, **options)
    return answers(str(target))
