"""All jobs of some data intervals in one session: encode, index, join, match, publish.

Each job is a transaction of its own, so a run that was killed is finished by running it again. When another run got
ahead of this one half-way, what is still open is planned anew.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from winnow.engines import DEFAULT_ENGINE
from winnow.errors import TransientError
from winnow.lake.locks import table_lock
from winnow.lake.store import ensure_tables, upsert
from winnow.pipeline import build_index, encode_documents, encode_profiles, join_paths, match_documents, publish_matches
from winnow.pipeline.report import RunReport

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
    partition: int = build_index.PARTITION


class Gate(NamedTuple):
    """What stands between staged and published."""

    audit: Callable[[dt.date, int], RunReport]


def run(spark: SparkSession, config: Config, gate: Gate | None = None) -> Iterator[RunReport]:
    """The report of each job as soon as it is done."""
    reports: list[RunReport] = []
    for report in _jobs(spark, config, gate):
        reports.append(report)
        yield report
    keep_metrics(config, reports)


def prepare(spark: SparkSession, config: Config) -> Iterator[RunReport]:
    """Encode what is new, and bring the index up to date."""
    lake, run_id = config.lake, config.run_id
    for date in config.dates:
        yield encode_documents.run(spark, encode_documents.Config(lake=lake, date=date, run_id=run_id))
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
                ),
            )
            yield matched
            for date, version in staged.items():
                if gate:
                    yield gate.audit(date, version)
                published = publish_matches.Config(lake=lake, date=date, staged_version=version, run_id=run_id)
                yield publish_matches.run(published)
        except TransientError as error:
            if error.code not in {"interval_moved", "index_stale"} or attempt == ATTEMPTS - 1:
                raise
        else:
            return


def keep_metrics(config: Config, reports: list[RunReport]) -> None:
    """The funnel and the seconds of every job, under the last of the dates."""
    values: dict[tuple[str, str], float] = {}
    for report in reports:
        for name, number in [*report.counts.items(), *((f"seconds: {k}", v) for k, v in report.seconds.items())]:
            values[report.job, name] = values.get((report.job, name), 0.0) + number
    rows = pa.table(
        {
            "run_id": [config.run_id] * len(values),
            "job": [job for job, _ in values],
            "metric": [metric for _, metric in values],
            "value": pa.array(list(values.values()), pa.float64()),
            "match_date": pa.array([config.dates[-1]] * len(values), pa.date32()),
        }
    )
    ensure_tables(config.lake, ("run_metrics",))
    with table_lock(config.lake, "run_metrics"):
        upsert(config.lake, "run_metrics", rows, run={"job": "run", "run_id": config.run_id})
