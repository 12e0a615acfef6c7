"""A small lake with staged answers, defects that can be seeded into it, and what its audit says."""

import datetime as dt
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jobs.lakes import declare, ingest
from winnow.generate.sample import make, make_profiles
from winnow.jobs import audit_matches, match_documents
from winnow.jobs import run as pipeline
from winnow.jobs.publish_matches import staged_run
from winnow.quality.suites import suite_files
from winnow.quality.validation import Verdict, validate
from winnow.tables import Lake, Tables, Transaction

DAY = dt.date(2026, 11, 15)
PROFILES: list[dict[str, object]] = [
    *make_profiles(12, seed=1),
    {"profile_id": "bad", "xpath": "//a["},
    {"profile_id": "ordered", "xpath": "//p[em]/text()", "ordered": True},
    {"profile_id": "hybrid", "xpath": "//p[not(em)]"},
    {"profile_id": "everywhere", "xpath": "/*", "destination": "desk"},
    {"profile_id": "captions", "xpath": "//caption"},
]
_numbers = itertools.count(1)


class GateLake(NamedTuple):
    """A lake with the answers of a run of one day staged, and nothing published."""

    tables: Tables
    run_id: str

    @property
    def folder(self) -> Path:
        return self.tables.lake.folder

    def copy(self, folder: Path) -> "GateLake":
        shutil.copytree(self.folder, folder)
        return GateLake(Lake(str(folder)).open(self.tables.spark), self.run_id)

    @property
    def config(self) -> audit_matches.Config:
        return audit_matches.Config(lake=self.tables.lake, date=DAY, run_id=self.run_id)

    def audited(self, *suites: str, **options: Any) -> dict[str, Verdict]:
        """What the suites of these tables say, by expectation."""
        row = staged_run(self.tables, DAY, self.run_id)
        self.tables.create("matches")
        run = audit_matches.audited_run(self.tables, row, **{"sample": 10_000, "seed": 0, **options})
        found = validate(run, audit_matches.frames(run), {table: suite_files()[table] for table in suites})
        return {verdict.check: verdict for validation in found for verdict in validation.verdicts}

    def failed(self, *suites: str) -> set[str]:
        return {check for check, verdict in self.audited(*suites).items() if not verdict.success}

    def rewrite(self, table: str, change: Callable[[DataFrame], DataFrame]) -> int:
        """Commits changed rows of a table, and makes them those that the run names."""
        rows = change(self.tables.read(table)).localCheckpoint()
        self.tables.replace(table, rows, Transaction(f"defect/{table}", next(_numbers)))
        version = self.tables.version(table)
        change_of = f"staged_version = {version}"
        if table != "matches_staged":
            change_of = f"inputs = map_concat(map_filter(inputs, (k, v) -> k <> '{table}'), map('{table}', {version}L))"
        self.tables.spark.sql(f"UPDATE {self.tables.lake.table('runs')} SET {change_of}")
        return version

    def restage(self, **columns: str) -> None:
        """Commits staged rows with these columns as SQL, and checksums that fit."""

        def change(rows: DataFrame) -> DataFrame:
            changed = rows.withColumns({name: sf.expr(rule) for name, rule in columns.items()})
            return changed.withColumn("checksum", sf.xxhash64("document_id", "shard", "profiles", "witnesses"))

        self.rewrite("matches_staged", change)

    def keys(self) -> dict[str, int]:
        """The profile keys by profile id."""
        return {row["profile_id"]: row["profile_key"] for row in self.tables.read("profiles").collect()}


def make_gate_lake(spark: SparkSession, folder: Path, profiles: list[dict[str, object]] = PROFILES) -> GateLake:
    lake = Lake(str(folder / "lake"))
    documents = folder / "documents"
    documents.mkdir(parents=True)
    for kind in ("news", "invoice", "trade"):
        for name, text in make(kind, 6, seed=3):
            (documents / name).write_text(text)
    (documents / "broken.xml").write_text("<a>")
    declare(spark, lake, folder, profiles)
    ingest(spark, lake, DAY, documents)
    list(pipeline.prepare(spark, pipeline.Config(lake=lake, dates=(DAY,), run_id="r1", partition=8)))
    match_documents.run(spark, match_documents.Config(lake=lake, dates=(DAY,), run_id="r1"))
    return GateLake(lake.open(spark), "r1")
