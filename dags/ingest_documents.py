"""Bring the documents of one day into the lake.

**Purpose.** Every day, read `<landing>/<date>/`; add what is new to `documents`, `document_sources` and `quarantine`.

**Params.** `landing`: the folder with one sub-folder per date. `record_tag`: split container files at this element.

**Example conf.** `{"landing": "/data/landing", "record_tag": "PubmedArticle"}`

**Recovery.** Running it again for a date is safe: the same bytes are one document. A failed run names its reason in the
last lines of the task log, with a code; refused documents are rows of `quarantine`, not failures.
"""

import datetime as dt
import os

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import CronPartitionTimetable, Param, dag

HOME = os.environ.get("WINNOW_HOME", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
JOB_BIN = f"{HOME}/.venv/bin"


@dag(
    schedule=CronPartitionTimetable("0 1 * * *", timezone="UTC", run_offset=-1, key_format="%Y-%m-%d"),
    start_date=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    catchup=False,
    max_active_runs=1,
    doc_md=__doc__,
    tags=["winnow", "ingest"],
    default_args={"owner": "winnow", "retries": 2, "execution_timeout": dt.timedelta(hours=2)},
    params={
        "landing": Param(f"{HOME}/.winnow/landing", type="string", pattern=r"^[^-\s][^\s]*$"),
        "record_tag": Param(None, type=["null", "string"], pattern=r"^[A-Za-z_][\w.:-]*$"),
    },
)
def ingest_documents() -> None:
    SparkSubmitOperator(
        task_id="ingest_documents",
        conn_id="spark_local",
        application=f"{HOME}/jobs/ingest_documents.py",
        name="winnow-ingest-documents",
        application_args=[
            "{{ params.landing }}/{{ dag_run.partition_key }}",
            "--date={{ dag_run.partition_key }}",
            "{% if params.record_tag %}--record-tag={{ params.record_tag }}{% else %}--record-tag={% endif %}",
        ],
        env_vars={
            "PATH": f"{JOB_BIN}:/usr/bin:/bin",
            "PYSPARK_PYTHON": f"{JOB_BIN}/python",
            "PYSPARK_DRIVER_PYTHON": f"{JOB_BIN}/python",
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        pool="default_pool",
    )


ingest_documents()
