"""All jobs of some data intervals in one session: encode, index, join, match, publish.

Each job is a transaction of its own, so a run that was killed is finished by the next one. When another run got ahead
of this one half-way, what is still open is planned anew.
"""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.errors import WinnowError, worker_error
from winnow.jobs import (
    build_index,
    build_sequence_trees,
    encode_documents,
    encode_profiles,
    join_paths,
    match_documents,
    publish_matches,
    sample_values,
)
from winnow.jobs.report import RunReport, all_of
from winnow.jobs.run_metrics import write_run_metrics
from winnow.tables import Lake

ATTEMPTS = 5
_OVERTAKEN = {"interval_moved", "index_moved", "index_stale", "join_stale", "paths_stale", "table_conflict"}
Gate = Callable[[dt.date, str], RunReport]  # what stands between staged and published, by date and run


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    dates: tuple[dt.date, ...]
    run_id: str
    engine: str = "boxpath"
    full: bool = False
    only: str | None = None
    shard: int = match_documents.MAX_SHARD_PROFILES
    partition: int = build_index.PARTITION_BRANCHES
    evaluation: EvaluationLimits = DEFAULT_EVALUATION


def new_run_id(given: str = "run") -> str:
    """Returns a name that no other run has, which begins as given."""
    return f"{given}-{uuid.uuid4().hex[:12]}"


def run(spark: SparkSession, config: Config, gate: Gate | None = None) -> Iterator[RunReport]:
    """Yields the report of each job as soon as it is done."""
    own = config
    for attempt in range(ATTEMPTS):
        reports: list[RunReport] = []
        try:
            for report in _jobs(spark, own, gate):
                reports.append(report)
                yield report
        except Exception as error:
            code = code_of(error)
            if code not in _OVERTAKEN or attempt == ATTEMPTS - 1:
                raise
            is_answered = code == "interval_moved"  # another run has just published it
            again = replace(config, run_id=new_run_id(config.run_id), full=own.full and not is_answered)
        else:
            return
        finally:  # also what a failed run has done
            write_run_metrics(own.lake.open(spark), own.run_id, own.dates[-1], reports)
        own = again


def code_of(error: Exception) -> str:
    """Returns the code of an error of ours, also of one that a worker has raised."""
    known = error if isinstance(error, WinnowError) else worker_error(error)
    return known.code if known else ""


def prepare(spark: SparkSession, config: Config, *, is_audited: bool = False) -> Iterator[RunReport]:
    """Encodes what is new, brings the index up to date, and estimates once how rare labels and values are."""
    lake, run_id = config.lake, config.run_id
    for date in config.dates:
        yield encode_documents.run(spark, encode_documents.Config(lake=lake, date=date, run_id=run_id))
    yield encode_profiles.run(spark, encode_profiles.Config(lake=lake))
    if not lake.open(spark).exists("selectivity"):  # later on it is a matter of maintenance, since it is one of cost
        yield sample_values.run(spark, sample_values.Config(lake=lake))
    if config.engine in build_sequence_trees.ENGINES:
        own = build_sequence_trees.Config(lake=lake, run_id=run_id, partition=config.partition)
        yield build_sequence_trees.run(spark, own)
        if not is_audited:  # the audit compares the other index with what was joined
            return
    yield build_index.run(spark, build_index.Config(lake=lake, run_id=run_id, partition=config.partition))
    yield join_paths.run(spark, join_paths.Config(lake=lake, run_id=run_id))


def _jobs(spark: SparkSession, config: Config, gate: Gate | None) -> Iterator[RunReport]:
    yield from prepare(spark, config, is_audited=gate is not None)
    matched = match_documents.run(
        spark,
        match_documents.Config(
            lake=config.lake,
            dates=config.dates,
            run_id=config.run_id,
            engine=config.engine,
            full=config.full,
            only=config.only,
            shard=config.shard,
            evaluation=config.evaluation,
        ),
    )
    yield matched
    staged = match_documents.staged_dates(config.lake.open(spark), config.run_id)
    yield from all_of(_publish(spark, config, gate, date) for date in staged)


def _publish(spark: SparkSession, config: Config, gate: Gate | None, date: dt.date) -> Iterator[RunReport]:
    if gate:
        yield gate(date, config.run_id)
    yield publish_matches.run(
        spark, publish_matches.Config(lake=config.lake, date=date, run_id=config.run_id, audited=gate is not None)
    )
