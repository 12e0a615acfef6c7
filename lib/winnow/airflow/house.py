"""The rules that every DAG keeps: one run at a time, bounded in time, nobody's work twice, somebody is told."""

import datetime as dt
from collections.abc import Callable
from typing import Any

from airflow.sdk import dag, task

from winnow.airflow.notifications import on_failure, when_late
from winnow.airflow.params import date_of_run
from winnow.airflow.settings import RETRY_SECONDS, START


def winnow_dag(**options: Any) -> Callable[[Callable[[], None]], Callable[[], Any]]:
    """`@dag` with the rules of the house."""
    defaults: dict[str, Any] = {
        "start_date": START,
        "catchup": False,
        "max_active_runs": 1,
        "dagrun_timeout": dt.timedelta(hours=6),
        "max_consecutive_failed_dag_runs": 5,
        "deadline": when_late(),
        "default_args": {
            "owner": "winnow",
            "retries": 2,
            "retry_delay": dt.timedelta(seconds=RETRY_SECONDS),
            "retry_exponential_backoff": True,
            "execution_timeout": dt.timedelta(hours=2),
            "on_failure_callback": on_failure(),
        },
    }
    return dag(**defaults | options)


@task(task_id="date", execution_timeout=dt.timedelta(minutes=5))
def date_of_this_run(params: dict[str, Any] | None = None, dag_run: Any = None) -> str:
    """The date of this run: its partition, or the param `date`. A run without one is refused, not guessed."""
    return date_of_run(params or {}, dag_run.partition_key)
