"""New profiles over history: what a backfill would do, and the dates it would do it for.

The work itself is `winnow.pipeline.run` over a range: the ledger knows which profile versions each batch was asked, the
distinct paths say which documents could satisfy the new ones, and only those are looked at.
"""

import datetime as dt
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pyspark.sql import SparkSession

from winnow.lake.store import open_table, read_rows, rows_by_partition
from winnow.pipeline import match_documents, run


class Estimate(NamedTuple):
    date: dt.date
    documents: int
    profiles: int  # to be asked
    pairs: int  # of them
    candidates: int  # documents that would be looked at


def known_dates(lake: str) -> tuple[dt.date, ...]:
    """The dates that have documents."""
    return tuple(sorted(date for (date,) in rows_by_partition(lake, "documents", "ingest_date")))


def pending_dates(lake: str) -> tuple[dt.date, ...]:
    """The dates that have documents which no ledger entry has answered: what a paused consumer has to catch up with."""
    have, answered = rows_by_partition(lake, "documents", "ingest_date"), Counter[dt.date]()
    if open_table(lake, "ledger") is not None:
        for row in read_rows(lake, "ledger", ["match_date", "documents"]).to_pylist():
            answered[row["match_date"]] += row["documents"]
    return tuple(sorted(date for (date,), count in have.items() if answered[date] < count))


def estimate(spark: SparkSession, config: match_documents.Config) -> Iterator[Estimate]:
    """What is still to be asked of each date. The index is brought up to date for it; nothing is published."""
    for _ in run.prepare(spark, run.Config(lake=config.lake, dates=(), run_id=config.run_id)):
        pass
    lake = match_documents.Pinned(config)
    for interval in lake.plan():
        documents = sum(interval.batches.values())
        profiles = max((group.ask.num_rows for group in interval.groups), default=0)
        pairs = sum(
            group.ask.num_rows * sum(interval.batches[batch] for batch in group.batches) for group in interval.groups
        )
        candidates = sum(match_documents.candidates(lake, interval, group) for group in interval.groups)
        lake.forget()
        yield Estimate(interval.date, documents, profiles, pairs, candidates)
