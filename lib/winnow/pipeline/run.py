"""All jobs of some data intervals in one session: encode, sample, index, join, match, publish.

Each job is a transaction of its own, so a run that was killed is finished by running it again. When another run got
ahead of this one half-way, what is still open is planned anew.
"""

import datetime as dt
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import SparkSession

from winnow.deciding.limits import DEFAULT_EVALUATION, EvaluationLimits
from winnow.engines import DEFAULT_ENGINE
from winnow.errors import TransientError
from winnow.jobs.report import RunReport, all_of
from winnow.pipeline import (
    build_index,
    encode_documents,
    encode_profiles,
    join_paths,
    match_documents,
    publish_matches,
    sample_values,
)
from winnow.pipeline.metrics import keep_metrics

ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    dates: tuple[dt.date, ...]
    run_id: str
    engine: str = DEFAULT_ENGINE
    full: bool = False
    only: str = "*"
    index: bool = True
    shard: int = match_documents.SHARD
    at_once: int = match_documents.AT_ONCE
    partition: int = build_index.PARTITION
    evaluation: EvaluationLimits = DEFAULT_EVALUATION


class Gate(NamedTuple):
    """What stands between staged and published."""

    audit: Callable[[dt.date, int], RunReport]


def run(spark: SparkSession, config: Config, gate: Gate | None = None) -> Iterator[RunReport]:
    """The report of each job as soon as it is done."""
    gc.freeze()  # what is loaded by now stays: looking for garbage in it would take 0.1 s, several times a run
    reports: list[RunReport] = []
    try:
        for report in _jobs(spark, config, gate):
            reports.append(report)
            yield report
    finally:  # also what a failed run has done
        keep_metrics(config.lake, config.run_id, config.dates[-1], reports)


def prepare(spark: SparkSession, config: Config) -> Iterator[RunReport]:
    """Encode what is new, and bring the index up to date."""
    lake, run_id = config.lake, config.run_id
    for date in config.dates:
        yield encode_documents.run(spark, encode_documents.Config(lake=lake, date=date, run_id=run_id))
    yield sample_values.run(sample_values.Config(lake=lake, run_id=run_id))
    yield encode_profiles.run(spark, encode_profiles.Config(lake=lake, run_id=run_id))
    yield build_index.run(build_index.Config(lake=lake, run_id=run_id, partition=config.partition))
    yield join_paths.run(spark, join_paths.Config(lake=lake, run_id=run_id))


def _jobs(spark: SparkSession, config: Config, gate: Gate | None) -> Iterator[RunReport]:
    lake, run_id = config.lake, config.run_id
    for attempt in range(ATTEMPTS):
        try:
            yield from prepare(spark, config)
            matched, staged = match_documents.run(
                spark,
                match_documents.Config(
                    lake=lake,
                    dates=config.dates,
                    run_id=run_id,
                    engine=config.engine,
                    full=config.full and not attempt,
                    only=config.only,
                    index=config.index,
                    shard=config.shard,
                    at_once=config.at_once,
                    evaluation=config.evaluation,
                ),
            )
            yield matched
            yield from all_of(_publish(config, gate, date, version) for date, version in staged.items())
        except TransientError as error:
            if error.code not in {"interval_moved", "index_stale"} or attempt == ATTEMPTS - 1:
                raise
        else:
            return


def _publish(config: Config, gate: Gate | None, date: dt.date, version: int) -> Iterator[RunReport]:
    if gate:
        yield gate.audit(date, version)
    published = publish_matches.Config(lake=config.lake, date=date, staged_version=version, run_id=config.run_id)
    yield publish_matches.run(published)
