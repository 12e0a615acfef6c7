"""What the page of a date tells. Numbers are of this date alone, also where its run did other dates; what can only be
told of a run as a whole says so.
"""

import datetime as dt
from typing import NamedTuple


class Bar(NamedTuple):
    label: str
    value: float
    note: str = ""


class Check(NamedTuple):
    check: str
    table: str
    severity: str
    success: bool
    message: str
    seconds: float


class Trend(NamedTuple):
    """One line over the last dates."""

    name: str
    dates: list[str]
    values: list[float]


class RunFacts(NamedTuple):
    """A row of `runs`."""

    run_id: str
    outcome: str
    mode: str
    engine: str
    documents: int
    profiles_asked: int
    planned_at: dt.datetime
    published_at: dt.datetime | None
    dates: list[dt.date]  # all that this run did


class SchedulerFacts(NamedTuple):
    """The run of a scheduler that the page was written in."""

    run_id: str = ""
    address: str = ""  # of its page in the scheduler
    tasks: tuple[tuple[str, str], ...] = ()  # with their states


BY_HAND = SchedulerFacts()


class Facts(NamedTuple):
    date: dt.date
    verdict: str  # passed, warned, failed, not audited, or not answered
    sentences: list[str]  # what has become of the date
    run: RunFacts | None
    scheduler: SchedulerFacts
    headline: list[Bar]
    funnel: list[Bar]
    pruning: list[Bar]
    seconds: list[Bar]
    profiles: list[Bar]
    destinations: list[Bar]
    quarantine: list[Bar]
    undecided: list[Bar]
    quality: list[Check]
    trends: list[Trend]
    common: list[Bar]  # values that most nodes of their label have, in percent
    rare: list[Bar]  # values that one in so many has
    sampled: int  # documents from which that is known
    data_docs: str = ""  # the page beside this one; empty where there was no audit
