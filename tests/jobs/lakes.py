"""A small lake of two dates, its reference answers, and what "the same answers" means."""

import datetime as dt
import json
import shutil
from collections.abc import Collection
from pathlib import Path

import deltalake
import pyarrow as pa
from lxml import etree
from pyspark.sql import SparkSession

from checksums import Checksum, checksum
from winnow.generate.sample import make_profiles, write_sample
from winnow.jobs import ingest_documents, ingest_profiles
from winnow.jobs import run as pipeline
from winnow.jobs.report import RunReport
from winnow.query.stored_tables import open_table
from winnow.tables import Lake

FIRST, SECOND = dt.date(2026, 11, 15), dt.date(2026, 11, 16)
SOURCES = {"documents", "document_sources", "quarantine", "profiles", "rejected_profiles", "profile_patterns"}
# Tables without what names the run and not the answer, by volatile columns.
CONTENT: dict[str, tuple[str, ...]] = {
    "documents": (),
    "document_sources": (),
    "quarantine": (),
    "profiles": (),
    "rejected_profiles": (),
    "encoded_documents": ("batch",),
    "paths": (),
    "document_samples": ("batch",),
    "selectivity": (),
    "profile_patterns": (),
    "patterns": (),
    "branches": (),
    "path_branches": (),
    "matches": ("run_id",),
    "undecided": ("run_id",),
}
DESKS = ("desk/0", "../etc/passwd", "etc-passwd-7fef78f5")  # destinations; the last two once shared a file name
Pairs = set[tuple[str, str]]


def ingest_two_dates(spark: SparkSession, lake: Lake, folder: Path, documents: int = 60) -> None:
    sample = write_sample(folder / "sample", documents=documents)
    for date, path, tag in ((FIRST, sample.documents, None), (SECOND, sample.container, "trade")):
        ingest(spark, lake, date, path, tag)


def ingest(spark: SparkSession, lake: Lake, date: dt.date, path: Path, tag: str | None = None) -> None:
    options = {"recordTag": tag} if tag else {}
    ingest_documents.run(spark, ingest_documents.Config(lake=lake, paths=(str(path),), date=date, options=options))


def declare(spark: SparkSession, lake: Lake, folder: Path, profiles: list[dict[str, object]]) -> None:
    file = folder / "profiles.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in profiles))
    ingest_profiles.run(spark, ingest_profiles.Config(lake=lake, file=str(file), retire_missing=True))


def declare_for_desks(spark: SparkSession, lake: Lake, folder: Path) -> None:
    profiles = make_profiles(30, seed=2)
    declare(spark, lake, folder, [{**row, "destination": DESKS[k % 3]} for k, row in enumerate(profiles)])


def run(spark: SparkSession, lake: Lake, *dates: dt.date, **options: object) -> dict[str, RunReport]:
    run_id = pipeline.new_run_id("test__12:30+00:00")  # those of a scheduler have such signs
    config = pipeline.Config(lake=lake, dates=dates, run_id=run_id, **options)  # type: ignore[arg-type]
    return {report.job: report for report in pipeline.run(spark, config)}


def rows(lake: Lake, table: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = deltalake.DeltaTable(f"{lake.location}/{table}").to_pyarrow_table().to_pylist()
    return found


def published(lake: Lake) -> Pairs:
    found = [(str(row["document_id"]), str(row["profile_id"])) for row in rows(lake, "matches")]
    assert len(found) == len(set(found))
    return set(found)


def reference(lake: Lake) -> Pairs:
    """What libxml2 says of every document and every active profile that is valid on the document's date."""
    trees = [(r["document_id"], r["ingest_date"], etree.fromstring(r["content"])) for r in rows(lake, "documents")]
    pairs = set()
    for profile in rows(lake, "profiles"):
        if profile["state"] != "active":
            continue
        xpath = etree.XPath(f"boolean({profile['xpath']})", namespaces=dict(profile["namespaces"]) or None)
        first, last = profile["valid_from"] or dt.date.min, profile["valid_to"] or dt.date.max
        pairs |= {
            (str(name), str(profile["profile_id"])) for name, day, tree in trees if first <= day < last and xpath(tree)
        }
    return pairs


def answers(lake: Lake) -> dict[str, Checksum]:
    """Checksums of the result tables, without what names the run and not the answer."""
    return {"matches": checksum(stored(lake, "matches").drop(["run_id"])), "deliveries": checksum(sent(lake))}


def contents(lake: Lake, without: Collection[str] = ()) -> dict[str, Checksum]:
    """Checksums of all tables that say the same after every way to the same answers."""
    wanted = {name: list(volatile) for name, volatile in CONTENT.items() if name not in without}
    found = {name: checksum(stored(lake, name).drop(volatile)) for name, volatile in wanted.items()}
    return found | {"deliveries": checksum(sent(lake))}


def sent(lake: Lake) -> pa.Table:
    """Deliveries, of which each publication has rows, by destination."""
    return stored(lake, "deliveries").group_by(["match_date", "destination"]).aggregate([("matches", "sum")])


def stored(lake: Lake, table: str) -> pa.Table:
    opened = open_table(lake, table)
    assert opened, table
    return opened.to_pyarrow_table()


def from_scratch(
    spark: SparkSession, lake: Lake, target: Path, *dates: dt.date, **options: object
) -> dict[str, Checksum]:
    """The answers of a new lake that has only the same documents and profiles."""
    shutil.rmtree(target, ignore_errors=True)
    for table in SOURCES:
        if (lake.folder / table).is_dir():
            shutil.copytree(lake.folder / table, target / table)
    again = Lake(str(target))
    run(spark, again, *dates, **options)
    return answers(again)
