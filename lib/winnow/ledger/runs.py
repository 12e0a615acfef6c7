"""Rows of the table `runs`: each names the publication it was planned on, so those of an interval are a chain."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    STAGED = "staged"
    PUBLISHED = "published"
    REFUSED = "refused"
    SUPERSEDED = "superseded"


@dataclass(frozen=True)
class Run:
    """What is needed of a row of `runs` to decide what comes next."""

    run_id: str
    outcome: str
    base_run: str | None
    batches: frozenset[str]
    revision: int
    only: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Run":
        batches = frozenset(row["batches"])
        return cls(row["run_id"], row["outcome"], row["base_run"], batches, row["revision"], row["only"])


def newest_published(runs: Iterable[Run]) -> Run | None:
    """Returns the publication that no other one was planned on: the ledger of the interval.

    >>> runs = [Run("b", "published", "a", frozenset("xy"), 7), Run("a", "published", None, frozenset("x"), 3)]
    >>> newest_published([*runs, Run("c", "staged", "b", frozenset("xyz"), 9)]).run_id
    'b'
    """
    published = [run for run in runs if run.outcome == Outcome.PUBLISHED]
    followed = {run.base_run for run in published}
    last = [run for run in published if run.run_id not in followed]
    return last[0] if last else None


def unfinished(runs: Iterable[Run]) -> list[Run]:
    """Returns staged runs that may have been published without anybody having said so: those on the newest base."""
    runs = list(runs)
    newest = newest_published(runs)
    base = newest.run_id if newest else None
    return [run for run in runs if run.outcome == Outcome.STAGED and run.base_run == base]
