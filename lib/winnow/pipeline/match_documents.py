"""Match the documents of one data interval against the profiles that are active on it.

Reads: documents, document_sources, profiles (each at a pinned version).
Writes: matches_staged, the whole of the interval in one commit; an empty result still replaces.
"""

import datetime as dt
import pickle
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from winnow.engines import DEFAULT_ENGINE
from winnow.lake.parts import Part, filesystem
from winnow.lake.session import driver_host
from winnow.lake.store import ensure_tables, partition_files, replace_partition, require_table
from winnow.matcher import Matcher
from winnow.pipeline.match_task import Answer, MatchTask, Question, Split
from winnow.pipeline.progress import Channel, Progress
from winnow.pipeline.report import RunReport

SPLIT_BYTES = 32 << 20  # of documents per split


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    date: dt.date
    run_id: str
    engine: str = DEFAULT_ENGINE


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("match_documents")
    partition = {"ingest_date": config.date}
    with report.stage("prepare"):
        ensure_tables(config.lake, ("matches_staged",))
        tables = {name: require_table(config.lake, name) for name in ("documents", "document_sources", "profiles")}
        versions = {name: table.version() for name, table in tables.items()}
        profiles = active_profiles(tables["profiles"].to_pyarrow_table(), config.date)
        splits = to_splits(partition_files(config.lake, "documents", partition, version=versions["documents"]))
        sources = first_places(tables["document_sources"].to_pyarrow_dataset())
    with report.stage("index"):
        matcher = Matcher(
            (
                (row["profile_id"], row["xpath"], dict(row["namespaces"]), row["ordered"])
                for row in profiles.to_pylist()
            ),
            engine=config.engine,
        )
        rejected = {profile.profile_id for profile in matcher.rejected}
        kept = pa.array([name not in rejected for name in profiles.column("profile_id").to_pylist()], pa.bool_())
        columns = ["profile_id", "profile_version", "subscriber", "destination"]
        question = Question(pickle.dumps(matcher, protocol=5), profiles.filter(kept).select(columns), sources)
    with report.stage("match"), Progress("matching", host=driver_host(spark)) as channel:
        parts, funnel = _distribute(spark, splits, question, config, channel)
    with report.stage("commit"):
        commit = {"job": "match_documents", "run_id": config.run_id, "engine": config.engine, "inputs": versions}
        version = replace_partition(config.lake, "matches_staged", parts, {"match_date": config.date}, commit)
    report.counts = {"profiles": len(matcher), "profiles rejected": len(rejected), **funnel, "staged version": version}
    return report


def active_profiles(profiles: pa.Table, date: dt.date) -> pa.Table:
    """The active versions that are valid on a date, by id."""
    query = """
        SELECT * FROM profiles WHERE state = 'active' AND coalesce(valid_from <= $date, true)
        AND coalesce($date < valid_to, true) ORDER BY profile_id
    """
    database = duckdb.connect()
    database.register("profiles", profiles)
    return database.execute(query, {"date": date}).to_arrow_table()


def first_places(sources: Any) -> pa.Table:
    """document_id and its first place, `file`, `file!member` or `file#record`."""
    query = """
        SELECT document_id, min(source || CASE member WHEN '' THEN '' ELSE '!' || member END
                                || CASE record WHEN 0 THEN '' ELSE '#' || record END) AS source
        FROM sources GROUP BY document_id
    """
    database = duckdb.connect()
    database.register("sources", sources)
    return database.execute(query).to_arrow_table()


def to_splits(files: Iterable[str]) -> list[Split]:
    """Row groups in runs of about SPLIT_BYTES, so that tasks are even whatever the files are."""
    splits: list[Split] = []
    for uri in files:
        system, path = filesystem(uri)
        metadata = pq.ParquetFile(system.open_input_file(path)).metadata
        run: list[int] = []
        size = 0
        for group in range(metadata.num_row_groups):
            run.append(group)
            size += metadata.row_group(group).total_byte_size
            if size >= SPLIT_BYTES:
                splits.append(Split(uri, tuple(run)))
                run, size = [], 0
        if run:
            splits.append(Split(uri, tuple(run)))
    return splits


def _distribute(
    spark: SparkSession, splits: list[Split], question: Question, config: Config, channel: Channel
) -> tuple[list[Part], dict[str, int]]:
    context = spark.sparkContext
    worker = MatchTask(lake=config.lake, date=config.date, run_id=config.run_id, tell=channel.tell)
    tasks = min(len(splits), context.defaultParallelism * 2)
    shared = context.broadcast((question, splits))

    def task(index: int) -> Answer:
        question, splits = shared.value
        return worker(splits[index::tasks], question)

    answers = context.parallelize(range(tasks), max(tasks, 1)).map(task).collect()
    shared.unpersist()
    funnel: dict[str, int] = {}
    for answer in answers:
        for name, count in answer.funnel.items():
            known = funnel.get(name, 0)
            funnel[name] = max(known, count) if name in {"paths", "branches"} else known + count
    return sorted(part for answer in answers for part in answer.parts), funnel
