"""What the DAGs share: where things are, the assets, the schedules, the date of a run, and the operator.

Airflow's partitions are young and have moved between releases, so they are named here and nowhere else.
"""

import datetime as dt
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset, BaseOperatorLink, CronPartitionTimetable, Param, PartitionedAssetTimetable, dag, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

# Where things are: the deployment's environment says it (infra/airflow/airflow.env), never a run's parameter.
HOME = os.environ.get("WINNOW_HOME") or str(Path(__file__).absolute().parents[1])
LAKE = os.environ.get("WINNOW_LAKE") or f"{HOME}/.winnow/lake"
LANDING = os.environ.get("WINNOW_LANDING") or f"{HOME}/.winnow/landing"  # one folder a date: <landing>/2026-11-16/
PROFILES_FOLDER = os.environ.get("WINNOW_PROFILES") or f"{LANDING}/profiles"
SPARK_CONF = os.environ.get("WINNOW_SPARK_CONF") or f"{HOME}/infra/spark/local"
JOB_BIN = os.environ.get("WINNOW_JOB_BIN") or f"{HOME}/.venv/bin"
START = dt.datetime.fromisoformat(os.environ.get("WINNOW_START") or "2026-01-01").replace(tzinfo=dt.UTC)

_LAKE_URI = LAKE if "://" in LAKE else f"file://{LAKE}"
DOCUMENTS = Asset(name="winnow_documents", uri=f"{_LAKE_URI}/documents")  # partitioned: the key is the date
PROFILES = Asset(name="winnow_profiles", uri=f"{_LAKE_URI}/profiles")
MATCHES = Asset(name="winnow_matches", uri=f"{_LAKE_URI}/matches")

# Ticks are at midnight, as are the bounds of `airflow backfill create`: of its last date it would miss a later tick.
EACH_DAY = CronPartitionTimetable("0 0 * * *", timezone="UTC", run_offset=-1, key_format="%Y-%m-%d")
ON_DOCUMENTS = PartitionedAssetTimetable(assets=DOCUMENTS)

DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
RUN_ID = "--run-id={{ run_id }}"
ENGINE = Param(
    "boxpath", type="string", pattern=r"^[a-z][a-z-]{0,39}(\+[a-z][a-z-]{0,39})?$", description="the engine, by name"
)
ENGINE_ARGUMENT = "--engine={{ params.engine }}"
WRONG_CALL, BAD_DATA = 2, 65  # exit codes of `winnow` for which a retry gives the same answer; see winnow.cli.main


def date_param(description: str) -> Param:
    return Param(None, type=["null", "string"], pattern=DATE, description=description)


def winnow_dag(**options: Any) -> Callable[[Callable[[], None]], Callable[[], Any]]:
    """`@dag` with the rules of the house: one run at a time, bounded in time, nobody's work twice."""
    defaults: dict[str, Any] = {
        "start_date": START,
        "catchup": False,
        "max_active_runs": 1,
        "dagrun_timeout": dt.timedelta(hours=6),
        "max_consecutive_failed_dag_runs": 5,
        "default_args": {
            "owner": "winnow",
            "retries": 2,
            "retry_delay": dt.timedelta(minutes=1),
            "retry_exponential_backoff": True,
            "execution_timeout": dt.timedelta(hours=2),
        },
    }
    return dag(**defaults | options)


@task(execution_timeout=dt.timedelta(minutes=5))
def interval(params: dict[str, Any] | None = None, dag_run: Any = None) -> str:
    """The date of this run: its partition, or the param `date`. A run without one is refused, not guessed."""
    given, key = (params or {}).get("date"), dag_run.partition_key
    if given and key and given != key:
        raise AirflowFailException(f"this run is for {key}, but its param `date` says {given}: leave out one of them")
    if not (given or key):
        raise AirflowFailException('which date? Trigger with conf {"date": "2026-11-16"}, or with a partition key')
    return calendar_date(given or key)


def calendar_date(text: str) -> str:
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        raise AirflowFailException(f"{text!r} is not a date like 2026-11-16") from None


class WinnowJob(SparkSubmitOperator):
    """A job of `jobs/` by spark-submit in the job environment. Its result is what it printed.

    An argument that renders to nothing is left out. Outlets get the job's counts, and the date as their partition.
    """

    def __init__(self, *, job: str, arguments: Sequence[str], **options: Any) -> None:
        defaults: dict[str, Any] = {"pool": "spark", "priority_weight": 10, "weight_rule": "absolute"}
        super().__init__(
            conn_id="spark_local",
            application=f"{HOME}/jobs/{job}.py",
            name=f"winnow-{job}",
            application_args=list(arguments),
            env_vars={
                "PATH": f"{JOB_BIN}:/usr/local/bin:/usr/bin:/bin",
                "PYSPARK_PYTHON": f"{JOB_BIN}/python",
                "PYSPARK_DRIVER_PYTHON": f"{JOB_BIN}/python",
                "SPARK_CONF_DIR": SPARK_CONF,
                "SPARK_LOCAL_IP": os.environ.get("SPARK_LOCAL_IP", "127.0.0.1"),
                "WINNOW_LAKE": LAKE,
                "WINNOW_RUN_ID": "{{ run_id }}",
            },
            **defaults | options,
        )

    def execute(self, context: Any) -> str:  # type: ignore[override]  # the base class has no result
        self.application_args = [argument for argument in self.application_args or [] if argument]
        try:
            super().execute(context)
        except AirflowException as error:
            raise by_cause(self._exit_code(), self._printed(), error) from error
        lines = self._printed()
        for asset in self.outlets:
            event = context["outlet_events"][asset]
            event.extra = counts(lines)
            event.add_partitions([arg.removeprefix("--date=") for arg in self.application_args if "--date=" in arg])
        return "\n".join(lines)

    def _printed(self) -> list[str]:
        lines = self._hook._last_submit_log_lines if self._hook else []
        return [line for line in lines if not line.startswith("WARNING: ")]

    def _exit_code(self) -> int | None:
        process = self._hook._submit_sp if self._hook else None
        return process.returncode if process else None


def by_cause(exit_code: int | None, lines: Iterable[str], error: Exception) -> Exception:
    """Bad data and wrong calls fail at once; whatever else it was may be gone at the next try."""
    records = [json.loads(line)["winnow_error"] for line in lines if line.startswith('{"winnow_error"')]
    words = str(error)
    if records:
        last = records[-1]
        words = f"{last['code']}: {last['message']}" + (f" ({last['hint']})" if last["hint"] else "")
    kind = AirflowFailException if exit_code in {WRONG_CALL, BAD_DATA} else AirflowException
    return kind(words)


def counts(lines: Iterable[str]) -> dict[str, int]:
    """The numbers of a job's report.

    >>> counts(["ingest_documents", "read      3", "stored  1,002", "seconds: commit  0.1"])
    {'read': 3, 'stored': 1002}
    """
    found = [re.fullmatch(r"(\S.*?)\s{2,}([\d,]+)", line) for line in lines]
    return {match[1]: int(match[2].replace(",", "")) for match in found if match}


class ReportLink(BaseOperatorLink):
    """The page of a run, linked from its task."""

    name = "Run report"
    xcom_key = "report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return getattr(operator, "place", "")


class WinnowReport(WinnowJob):
    """The job `report`: its result is the place of the page."""

    operator_extra_links = (ReportLink(),)

    def execute(self, context: Any) -> str:  # type: ignore[override]
        printed = super().execute(context)
        pages = re.findall(r"\S+\.html", printed)
        if not pages:
            raise AirflowFailException(f"the report's place is not in what the job printed: {printed!r}")
        self.place = pages[-1] if "://" in pages[-1] else Path(pages[-1]).absolute().as_uri()
        return self.place
