"""Keep the tables fit: few files, no leftovers, and numbers that tell when that is not so.

Reads and writes all tables: OPTIMIZE merges small files, VACUUM removes files that no version within the retention
names. Rows that people read never change. What killed ingests and runs have left in arrivals and in the stage goes.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from winnow.errors import UsageError
from winnow.jobs.report import RunReport
from winnow.ledger import Outcome
from winnow.tables import Lake, Tables, table_names
from winnow.tables.small import read_one, read_small

RETENTION_HOURS = 24 * 30  # time travel and the longest backfill fit into it
SAFE_HOURS = 24 * 7
LEFTOVER_HOURS = 24 * 2  # no ingest and no run takes longer


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    tables: tuple[str, ...] = ()  # none: all
    retention_hours: int = RETENTION_HOURS


def run(spark: SparkSession, config: Config) -> Iterator[RunReport]:
    """Yields a report for each table.

    Raises:
        UsageError: the retention is shorter than running jobs and time travel need.
    """
    if config.retention_hours < SAFE_HOURS:
        raise UsageError(
            "retention_too_short",
            f"{config.retention_hours} hours: running jobs and time travel need files for at least {SAFE_HOURS}",
            hint=f"give --retention-hours {SAFE_HOURS} or more",
        )
    tables = config.lake.open(spark)
    for name in config.tables or table_names():
        if tables.exists(name):
            yield _maintain(tables, name, config.retention_hours)


def remove_leftovers(tables: Tables, name: str) -> None:
    """Removes what nobody will read: arrivals of killed ingests, and staged answers that are published."""
    is_old = f"_metadata.file_modification_time < now() - INTERVAL {LEFTOVER_HOURS} HOURS"
    if name == "arrivals":
        for row in read_small(tables.read(name).where(is_old).select("ingest_date", "ingest_id").distinct()):
            tables.delete(name, f"ingest_date = DATE'{row.ingest_date}' AND ingest_id = '{row.ingest_id}'")
    if name == "matches_staged" and tables.exists("runs"):
        done = tables.read("runs").where(sf.col("outcome") == str(Outcome.PUBLISHED)).select("match_date", "run_id")
        old = tables.read(name).where(is_old).select("match_date", "run_id").distinct()
        for row in read_small(old.join(done, ["match_date", "run_id"], "left_semi")):
            tables.delete(name, f"match_date = DATE'{row.match_date}' AND run_id = '{row.run_id}'")


def _maintain(tables: Tables, name: str, retention_hours: int) -> RunReport:
    report = RunReport(f"maintain {name}")
    before = _size(tables, name)
    with report.stage("leftovers"):
        remove_leftovers(tables, name)
    with report.stage("optimize"):
        tables.optimize(name)
    with report.stage("vacuum"):
        tables.vacuum(name, retention_hours)
    after = _size(tables, name)
    report.counts = {
        "files before": before["numFiles"],
        "files": after["numFiles"],
        "megabytes": after["sizeInBytes"] // 1_000_000,
    }
    return report


def _size(tables: Tables, name: str) -> dict[str, int]:
    detail = tables.spark.sql(f"DESCRIBE DETAIL {tables.lake.table(name)}")
    return read_one(detail.select("numFiles", "sizeInBytes"))
