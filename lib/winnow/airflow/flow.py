"""The picture of the README as tasks: what leads from documents and profiles to published answers."""

from collections.abc import Sequence
from typing import Any

from airflow.sdk import TaskGroup, chain, task_group

from winnow.airflow.assets import MATCHES
from winnow.airflow.operators import PlanDates, WinnowAudit, WinnowJob, WinnowReport

RUN_ID = "--run-id={{ run_id }}"
SPAN = "{{ task.span }}"  # the name of a mapped task
# By name, since each reference to the result of a task would be one more line in the graph.
ALL_DATES = "{{ (ti.xcom_pull(task_ids='dates') or []) | sum(start=[]) | join(',') }}"
DATES_OF_SLICE = "{{ ti.xcom_pull(task_ids='dates')[ti.map_index] | join(',') }}"


def answer_open_dates(dates: PlanDates, engine: Sequence[str] = (), match_arguments: Sequence[str] = ()) -> None:
    """Wires the jobs behind the task that says which dates are done; `engine` is the argument that names one."""
    with TaskGroup("encode", prefix_group_id=False, tooltip="what is new becomes rows that engines read") as encode:
        WinnowJob(task_id="encode_documents", job="encode_documents", arguments=[RUN_ID], dates=ALL_DATES)
        WinnowJob(task_id="encode_profiles", job="encode_profiles", arguments=[RUN_ID], dates=ALL_DATES)
    with TaskGroup("index", prefix_group_id=False, tooltip="new paths meet branches, once") as index:
        chain(
            WinnowJob(task_id="build_index", job="build_index", arguments=[RUN_ID, *engine], dates=ALL_DATES),
            WinnowJob(task_id="join_paths", job="join_paths", arguments=[RUN_ID], dates=ALL_DATES),
        )

    @task_group(group_id="answer", prefix_group_id=False, tooltip="each slice of dates: staged, judged, published")
    def answer(slice_of_dates: Any) -> None:
        chain(
            WinnowJob(
                task_id="match",
                job="match_documents",
                arguments=[RUN_ID, *engine, *match_arguments],
                dates=DATES_OF_SLICE,
                max_active_tis_per_dagrun=1,
                map_index_template=SPAN,
            ),
            WinnowAudit(
                task_id="audit",
                job="audit_matches",
                arguments=["--unpublished"],
                dates=DATES_OF_SLICE,
                max_active_tis_per_dagrun=1,
                map_index_template=SPAN,
            ),
            WinnowJob(
                task_id="publish",
                job="publish_matches",
                arguments=["--audited", "--unpublished", RUN_ID],
                dates=DATES_OF_SLICE,
                outlets=[MATCHES],
                max_active_tis_per_dagrun=1,
                map_index_template=SPAN,
            ),
        )

    # A teardown: it runs whatever became of the others, and the run is as red or green as they are.
    report = WinnowReport(task_id="report", job="report", dates=ALL_DATES)
    chain(dates, encode, index, answer.expand(slice_of_dates=dates.output), report.as_teardown())
