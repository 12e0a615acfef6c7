"""What the DAGs share: where things are, the assets, the schedules, the date of a run, and the operator.

Airflow's partitions are young and have moved between releases, so they are named here and nowhere else.
"""

import datetime as dt
import json
import os
import tempfile
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import (
    Asset,
    BaseHook,
    BaseOperator,
    BaseOperatorLink,
    CronPartitionTimetable,
    Param,
    PartitionedAssetTimetable,
    dag,
    task,
)
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

# Where things are: the deployment's environment says it (infra/airflow/airflow.env), never a run's parameter.
HOME = os.environ.get("WINNOW_HOME") or str(Path(__file__).absolute().parents[1])
LAKE = os.environ.get("WINNOW_LAKE") or f"{HOME}/.winnow/lake"
LANDING = os.environ.get("WINNOW_LANDING") or f"{HOME}/.winnow/landing"  # one folder a date: <landing>/2026-11-16/
PROFILES_FOLDER = os.environ.get("WINNOW_PROFILES") or f"{LANDING}/profiles"
CONNECTION = os.environ.get("WINNOW_CONNECTION") or "winnow_spark"  # of type spark_connect, or spark
SPARK_CONF = os.environ.get("WINNOW_SPARK_CONF") or f"{HOME}/infra/spark/local"  # these two for spark-submit
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
ENGINES = ["boxpath", "boxfilter", "b-boxfilter", "nfa", "buff", "xfilter", "xtrie", "xtrie-eager", "wfilter"]
ENGINE = Param(
    "boxpath",
    type="string",
    pattern=r"^[a-z][a-z-]{0,39}(\+[a-z][a-z-]{0,39})?$",
    examples=ENGINES,
    description="the engine, by name; nfa, buff and xfilter also with a strategy, as in nfa+bottom-up",
)
ENGINE_ARGUMENT = "--engine={{ params.engine }}"
WRONG_CALL, BAD_DATA = 2, 65  # exit codes of `winnow` for which a retry gives the same answer; see winnow.cli.main
NO_INPUT = "no_input"  # the code of an error that is none: there is nothing for this date
Reports = list[dict[str, Any]]  # what each job has done: job, counts, seconds, place


def date_param(description: str) -> Param:
    return Param(None, type=["null", "string"], format="date", pattern=DATE, description=description)


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


class WinnowJob(BaseOperator):
    """A job of `jobs/`, in a session of the Spark that the connection names. Its result is what each job has done.

    With a connection of type `spark_connect` the job's client runs in the task's own process, and all tasks of a DAG
    run share one session of the server. With one of type `spark` the job is submitted, in the job environment.
    An argument that renders to nothing is left out. Outlets get the job's counts, and the date as their partition.
    """

    template_fields = ("arguments",)

    def __init__(self, *, job: str, arguments: Sequence[str], **options: Any) -> None:
        defaults: dict[str, Any] = {"pool": "spark", "priority_weight": 10, "weight_rule": "absolute"}
        super().__init__(**defaults | options)
        self.job, self.arguments = job, list(arguments)
        self._stop: Callable[[], Any] = lambda: None

    def execute(self, context: Any) -> Reports:
        arguments = [argument for argument in self.arguments if argument]
        connection = BaseHook.get_connection(CONNECTION)
        is_client = connection.conn_type == "spark_connect"
        reports = self._as_client(arguments, context) if is_client else self._submit(arguments, context)
        counts = {name: count for report in reports for name, count in report["counts"].items()}
        for asset in self.outlets:
            event = context["outlet_events"][asset]
            event.extra = counts
            event.add_partitions([arg.removeprefix("--date=") for arg in arguments if arg.startswith("--date=")])
        if not reports:
            self.log.info("nothing was to be done")
        return reports

    def on_kill(self) -> None:
        self._stop()

    def _as_client(self, arguments: list[str], context: Any) -> Reports:
        from dataclasses import asdict

        from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

        from winnow.cli.scheduled import run_command
        from winnow.errors import WinnowError
        from winnow.tables.session import open_session

        run = f"{context['dag'].dag_id}/{context['run_id']}"
        session = uuid.uuid5(uuid.NAMESPACE_URL, f"winnow/{run}")
        server = f"{SparkConnectHook(CONNECTION).get_connection_url()};session_id={session}"
        spark = open_session(master=server)
        tag = f"{run}/{self.task_id}".replace(",", "-")
        spark.interruptTag(tag)  # an earlier try may have died and left its operations to the server
        spark.addTag(tag)
        self._stop = lambda: spark.interruptTag(tag)
        reports: Reports = []
        try:
            for report in run_command([*JOBS[self.job], *arguments, f"--lake={LAKE}", f"--master={server}"]):
                self.log.info("%s", report.render())
                reports.append(asdict(report))
        except WinnowError as error:
            raise by_cause(error.code, str(error), error.exit_code) from error
        return reports

    def _submit(self, arguments: list[str], context: Any) -> Reports:
        with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
            file = Path(folder) / "result.json"
            submitted = SparkSubmitOperator(
                task_id=self.task_id,
                conn_id=CONNECTION,
                application=f"{HOME}/jobs/{self.job}.py",
                name=f"winnow-{self.job}",
                application_args=[*arguments, f"--result={file}"],
                env_vars={
                    "PATH": f"{JOB_BIN}:/usr/local/bin:/usr/bin:/bin",
                    "PYSPARK_PYTHON": f"{JOB_BIN}/python",
                    "PYSPARK_DRIVER_PYTHON": f"{JOB_BIN}/python",
                    "SPARK_CONF_DIR": SPARK_CONF,
                    "SPARK_LOCAL_IP": os.environ.get("SPARK_LOCAL_IP", "127.0.0.1"),
                    "WINNOW_LAKE": LAKE,
                    "WINNOW_RUN_ID": context["run_id"],
                },
            )
            self._stop = submitted.on_kill
            try:
                submitted.execute(context)
            except AirflowException as error:
                if not file.exists() or "error" not in json.loads(file.read_text()):
                    raise
                found = json.loads(file.read_text())["error"]
                hint = f" ({found['hint']})" if found["hint"] else ""
                raise by_cause(found["code"], f"{found['code']}: {found['message']}{hint}", found["exit"]) from error
            reports: Reports = json.loads(file.read_text())["reports"]
            return reports


def by_cause(code: str, words: str, exit_code: int) -> Exception:
    """Bad data and wrong calls fail at once, a date without input is skipped; all else may be gone at the next try."""
    if code == NO_INPUT:
        return AirflowSkipException(words)
    return (AirflowFailException if exit_code in {WRONG_CALL, BAD_DATA} else AirflowException)(words)


# What a job is called on the command line of `winnow`.
JOBS = {
    "ingest_documents": ("ingest", "documents"),
    "ingest_profiles": ("ingest", "profiles"),
    "encode_documents": ("encode-documents",),
    "encode_profiles": ("encode-profiles",),
    "build_index": ("build-index",),
    "join_paths": ("join-paths",),
    "sample_values": ("sample-values",),
    "match_documents": ("match-documents",),
    "audit_matches": ("audit",),
    "publish_matches": ("publish-matches",),
    "report": ("report",),
    "backfill": ("backfill",),
    "maintain": ("maintain",),
}


class ReportLink(BaseOperatorLink):
    """The page of a run, linked from its task."""

    name = "Run report"
    xcom_key = "report"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        return getattr(operator, "place", "")


class WinnowReport(WinnowJob):
    """The job `report`: its result is the place of the page. It is written also when the gate has failed."""

    operator_extra_links = (ReportLink(),)

    def execute(self, context: Any) -> str:  # type: ignore[override]
        (report,) = super().execute(context)
        place = str(report["place"])
        self.place = place if "://" in place else Path(place).absolute().as_uri()
        return self.place
