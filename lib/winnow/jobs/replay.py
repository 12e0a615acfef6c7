"""Ask again what a run has asked, at the versions of the tables that it has read, and compare the answers.

Reads:  runs, matches_staged, and the inputs of the run at its versions
Writes: nothing
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.errors import DataError
from winnow.jobs import match_documents
from winnow.jobs.report import RunReport
from winnow.tables import Lake
from winnow.tables.small import read_small


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    run_id: str


def run(spark: SparkSession, config: Config) -> Iterator[RunReport]:
    """Yields, for each interval of the run, how many answers are the same.

    Raises:
        DataError: there is no such run, or, in the end, some answers differ.
    """
    tables = config.lake.open(spark)
    tables.create("runs", "matches_staged")
    rows = read_small(tables.read("runs").where(sf.col("run_id") == config.run_id))
    if not rows:
        raise DataError("unknown_run", f"there is no run {config.run_id}", hint="see the table runs")
    differing = 0
    for row in sorted(rows, key=lambda row: row.match_date):
        report = RunReport(f"replay {row.match_date}")
        with report.stage("ask"):
            asked = match_documents.Config(
                lake=config.lake, dates=(row.match_date,), run_id=row.run_id, engine=row.engine, only=row.only
            )
            questions = match_documents.Questions(tables, dict(row.inputs), asked)
            frames = questions.answers(row.match_date, row.new_batches, row.asked_since)
        with report.stage("compare"):
            stage = tables.read("matches_staged", version=row.staged_version, interval=row.match_date)
            staged = pairs(stage.where(sf.col("run_id") == row.run_id))
            again = pairs(reduce(DataFrame.unionByName, frames)) if frames else staged.limit(0)
            report.counts = compare(staged, again)
        differing += report.counts["only staged"] + report.counts["only now"]
        yield report
    if differing:
        raise DataError("replay_differs", f"{differing:,} answers of run {config.run_id} are not those of today")


def pairs(answers: DataFrame) -> DataFrame:
    """Returns a row for each pair of document and profile, with the node that proves it."""
    zipped = answers.select("document_id", sf.explode(sf.arrays_zip("profiles", "witnesses")).alias("pair"))
    return zipped.select("document_id", "pair.profiles", "pair.witnesses")


def compare(staged: DataFrame, again: DataFrame) -> dict[str, int]:
    """Counts the answers that are in both, and in one of them only."""
    both = staged.withColumn("was", sf.lit(1)).unionByName(again.withColumn("was", sf.lit(2)))
    ways = both.groupBy("document_id", "profiles", "witnesses").agg(sf.sum("was").alias("ways"))
    counted = {row["ways"]: row["count"] for row in read_small(ways.groupBy("ways").count())}
    return {"same": counted.get(3, 0), "only staged": counted.get(1, 0), "only now": counted.get(2, 0)}
