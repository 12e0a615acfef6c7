"""The two ways in which a task runs a job: as a client of a Spark Connect server in its own process, or submitted.

Both give what each job has done as data, and errors with our codes: nothing is read from printed text.
"""

import json
import logging
import os
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from winnow.airflow.settings import CONNECTION, HOME, JOB_BIN, LAKE, RESULTS_FOLDER, SPARK_CONF

_log = logging.getLogger(__name__)
WRONG_CALL, BAD_DATA = 2, 65  # exit codes of `winnow` for which a retry gives the same answer; see winnow.cli.main
NO_INPUT = "no_input"  # the code of an error that is none: there is nothing for this date
Reports = list[dict[str, Any]]  # what each job has done: job, counts, seconds, place
Versions = dict[str, int]  # of tables
Stoppable = Callable[[Callable[[], Any]], None]  # is told how the work can be stopped


class Done(NamedTuple):
    """What a job has done, and the versions of the tables that it has read and written."""

    reports: Reports
    read: Versions
    written: Versions


# What a job is called on the command line of `winnow`.
JOBS = {
    "ingest_documents": ("ingest", "documents"),
    "ingest_profiles": ("ingest", "profiles"),
    "open_dates": ("open-dates",),
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


def run_as_client(job: str, arguments: Sequence[str], context: Any, stoppable: Stoppable) -> Done:
    """Runs a job in this process; all tasks of a DAG run share one session of the server."""
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

    from winnow.cli.scheduled import connect, run_command, versions_seen
    from winnow.errors import WinnowError
    from winnow.tables.traffic import table_traffic

    server = f"{SparkConnectHook(CONNECTION).get_connection_url()};session_id={session_id(context['dag_run'])}"
    tag = f"{context['dag_run'].run_id}/{context['ti'].task_id}/{context['ti'].map_index}".replace(",", "-")
    command = [*JOBS[job], *arguments, f"--lake={LAKE}", f"--master={server}"]
    reports: Reports = []
    try:
        spark = connect(server)
        spark.interruptTag(tag)  # an earlier try may have died and left its operations to the server
        spark.addTag(tag)
        stoppable(lambda: spark.interruptTag(tag))
        with table_traffic() as traffic:
            for report in run_command(command):
                _log.info("%s", report.render())
                reports.append(asdict(report))
        seen = versions_seen(traffic, command) if lineage_is_wanted() else {"read": {}, "written": {}}
        return Done(reports, **seen)
    except WinnowError as error:
        raise by_cause(error.code, str(error), error.exit_code) from error


def lineage_is_wanted() -> bool:
    """Whether anybody has said where OpenLineage's events go."""
    try:
        from airflow.providers.openlineage.conf import is_disabled
    except ImportError:
        return False
    return not is_disabled()


def session_id(dag_run: Any) -> str:
    """Returns the name of the session that the tasks of a DAG run share, a new one each time the run is started: the
    server never opens a session again that it has closed, for one because nobody used it for an hour.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"winnow/{dag_run.dag_id}/{dag_run.run_id}/{dag_run.start_date}"))


def submit(job: str, arguments: Sequence[str], context: Any, stoppable: Stoppable) -> Done:
    """Runs a job by spark-submit, in the job environment; its result comes in a file."""
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    with tempfile.TemporaryDirectory(prefix="winnow-", dir=RESULTS_FOLDER) as folder:
        file = Path(folder) / "result.json"
        submitted = SparkSubmitOperator(
            task_id=context["ti"].task_id,
            conn_id=CONNECTION,
            application=f"{HOME}/jobs/{job}.py",
            name=f"winnow-{job}",
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
        stoppable(submitted.on_kill)
        try:
            submitted.execute(context)
        except AirflowException as error:
            if not file.exists() or "error" not in json.loads(file.read_text()):
                raise
            found = json.loads(file.read_text())["error"]
            hint = f" ({found['hint']})" if found["hint"] else ""
            raise by_cause(found["code"], f"{found['code']}: {found['message']}{hint}", found["exit"]) from error
        result = json.loads(file.read_text())
        return Done(result["reports"], **result["tables"])


def counted(reports: Reports) -> dict[str, int]:
    """Returns the counts of all reports; those of one name are added up."""
    counts: dict[str, int] = {}
    for report in reports:
        for name, count in report["counts"].items():
            counts[name] = counts.get(name, 0) + count
    return counts


def by_cause(code: str, words: str, exit_code: int) -> Exception:
    """Bad data and wrong calls fail at once, a date without input is skipped; all else may be gone at the next try."""
    if code == NO_INPUT:
        return AirflowSkipException(words)
    return (AirflowFailException if exit_code in {WRONG_CALL, BAD_DATA} else AirflowException)(words)
