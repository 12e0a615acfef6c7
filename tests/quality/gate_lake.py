"""A small lake with staged answers, defects that can be seeded into it, and what its audit says."""

import datetime as dt
import itertools
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jobs.lakes import declare, ingest
from winnow.generate.sample import make, make_profiles
from winnow.jobs import audit_matches, match_documents
from winnow.jobs import run as pipeline
from winnow.jobs.publish_matches import staged_run
from winnow.quality.finding import counted
from winnow.quality.suites import suite_files
from winnow.quality.validation import Validation, validate
from winnow.tables import Lake, Tables, Transaction, contract

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

    def audited(self, *suites: str) -> list[Validation]:
        """What the suites of these tables say, apart from what they say of files: that is asked by itself."""
        row = staged_run(self.tables, DAY, self.run_id)
        self.tables.create("matches")
        run = audit_matches.audited_run(self.tables, row, sample=10_000, seed=0)
        run.__dict__["file_findings"] = defaultdict(lambda: counted(0))
        return validate(run, audit_matches.frames(run), {table: suite_files()[table] for table in suites})

    def failed_of(self, *suites: str) -> dict[str, set[str]]:
        """The expectations that are not met, by suite."""
        return {
            found.suite: {verdict.check for verdict in found.verdicts if not verdict.success}
            for found in self.audited(*suites)
        }

    def failed(self, suite: str) -> set[str]:
        return self.failed_of(suite)[suite]

    def rewrite(self, table: str, change: Callable[[DataFrame], DataFrame]) -> None:
        """Commits changed rows of a table without its constraints, and makes them those that the run names."""
        name = self.tables.lake.table(table)
        for constraint in contract(table).constraints or {}:
            self.tables.spark.sql(f"ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {constraint}")
        rows = change(self.tables.read(table)).localCheckpoint()
        self.tables.replace(table, rows, Transaction(f"defect/{table}", next(_numbers)))
        self.name_version(table)

    def name_version(self, table: str) -> None:
        """Makes the newest version of a table the one that the run names."""
        version, own = self.tables.version(table), staged_run(self.tables, DAY, self.run_id)
        changed = {"staged_version": sf.lit(version).cast("long")}
        if table in own.inputs:
            inputs = {**own.inputs, table: version}
            pairs = [sf.lit(part) for pair in inputs.items() for part in pair]
            changed = {"inputs": sf.create_map(*pairs).cast("map<string,long>")}
        if table in own.inputs or table == "matches_staged":
            rows = self.tables.read("runs").withColumns(changed).localCheckpoint()
            self.tables.replace("runs", rows, Transaction("defect/runs", next(_numbers)))

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
