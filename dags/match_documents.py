"""Match the documents of a date with all profiles, judge the answers, publish them.

**Purpose.** Woken by every event on `winnow_documents`. One task for each job: encode what is new, bring the index up
to date, join it with new paths, stage the answers; `audit` lets the quality gate judge them, `publish` makes exactly
the audited version the content of `matches`, `report` writes the page of the date, also when the gate has failed (see
the task's link *Run report*).

Events only wake. What is to do is read from the ledger: with the date of the event, every other date that has
documents without an answer is done too. So a DAG that was paused catches up, and an event that comes twice does
nothing twice.

**Params.** `date`: for manual runs, the date to match. `pending`: do the other open dates too (default), or only this.
`engine`: the name of the engine, see `winnow match --help`; all give the same answers.

**Example conf.** `{"date": "2026-11-16"}`, or `{"date": "2026-11-16", "pending": false}` to pass by a date that fails.

**Recovery.** Clear the failed task; every job can be run again. `gate_failed`: nothing was published; the
error names the failing checks and `quality_results` has them all; mend the cause, clear `encode_documents` and what
follows.
"""

from airflow.sdk import Param, chain
from winnow_airflow import (
    ENGINE,
    ENGINE_ARGUMENT,
    MATCHES,
    ON_DOCUMENTS,
    RUN_ID,
    WinnowJob,
    WinnowReport,
    date_param,
    interval,
    winnow_dag,
)


@winnow_dag(
    schedule=ON_DOCUMENTS,
    doc_md=__doc__,
    tags=["winnow", "matches"],
    params={
        "date": date_param("the date to match; only for manual runs"),
        "pending": Param(True, type="boolean", description="every other open date too"),
        "engine": ENGINE,
    },
)
def match_documents() -> None:
    date = interval()
    named = [f"--date={date}", "{{ '--pending' if params.pending else '' }}"]
    encode = [
        WinnowJob(task_id="encode_documents", job="encode_documents", arguments=[*named, RUN_ID]),
        WinnowJob(task_id="encode_profiles", job="encode_profiles", arguments=[RUN_ID]),
    ]
    publish = WinnowJob(
        task_id="publish",
        job="publish_matches",
        arguments=[*named, "--audited", "--unpublished", RUN_ID],
        outlets=[MATCHES],
    )
    chain(
        date,
        encode,
        WinnowJob(task_id="build_index", job="build_index", arguments=[RUN_ID]),
        WinnowJob(task_id="join_paths", job="join_paths", arguments=[RUN_ID]),
        WinnowJob(task_id="match", job="match_documents", arguments=[*named, RUN_ID, ENGINE_ARGUMENT]),
        WinnowJob(task_id="audit", job="audit_matches", arguments=[*named, "--unpublished"]),
        publish,
        # A teardown: it runs whatever became of the others, and the run is as red or green as they are.
        WinnowReport(task_id="report", job="report", arguments=[f"--date={date}"]).as_teardown(),
    )


match_documents()
