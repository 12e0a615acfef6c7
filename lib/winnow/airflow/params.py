"""Params that DAGs share: typed, described, and refused in the trigger form where they are no value."""

import datetime as dt
from typing import Any

from airflow.sdk import Param
from airflow.sdk.exceptions import AirflowFailException

DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
ENGINES = ["boxpath", "boxfilter", "b-boxfilter", "nfa", "buff", "xfilter", "xtrie", "xtrie-eager", "wfilter"]


def date_param(description: str) -> Param:
    return Param(None, type=["null", "string"], format="date", pattern=DATE, description=description)


def engine_param() -> Param:
    return Param(
        "boxpath",
        type="string",
        pattern=r"^[a-z][a-z-]{0,39}(\+[a-z][a-z-]{0,39})?$",
        examples=ENGINES,
        description="the engine, by name; nfa, buff and xfilter also with a strategy, as in nfa+bottom-up",
    )


def slice_param() -> Param:
    return Param(7, type="integer", minimum=1, maximum=366, description="how many dates are done at a time")


def date_of_run(params: dict[str, Any], partition_key: str | None) -> str:
    """Returns the date of a run: its partition, or the param `date`.

    Raises:
        AirflowFailException: there is none, or there are two; a date is refused, not guessed.
    """
    given = params.get("date")
    if given and partition_key and given != partition_key:
        raise AirflowFailException(f"this run is for {partition_key}, but its param `date` says {given}: leave out one")
    if not (given or partition_key):
        raise AirflowFailException('which date? Trigger with conf {"date": "2026-11-16"}, or with a partition key')
    return calendar_date(str(given or partition_key)).isoformat()


def range_of_run(params: dict[str, Any]) -> tuple[str, str]:
    """Returns the params `from` and `to`.

    Raises:
        AirflowFailException: one is missing, or they are the wrong way round.
    """
    if not (params.get("from") and params.get("to")):
        raise AirflowFailException('which dates? Trigger with conf {"from": "2026-11-01", "to": "2026-11-16"}')
    first, last = calendar_date(params["from"]), calendar_date(params["to"])
    if first > last:
        raise AirflowFailException(f"`from` ({first}) is after `to` ({last}): swap them")
    return first.isoformat(), last.isoformat()


def calendar_date(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise AirflowFailException(f"{text!r} is not a date like 2026-11-16") from None
