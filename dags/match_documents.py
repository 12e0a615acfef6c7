"""Match the documents of a date with all profiles, judge the answers, publish them.

**Purpose.** Woken by every event on `winnow_documents`. `prepare` encodes what is new and brings the index up to date,
`match_and_audit` stages the answers and lets the quality gate judge them, `publish` makes exactly the audited version
the content of `matches`, `report` writes the page of the date (see the task's link *Run report*).

Events only wake. What is to do is read from the ledger: with the date of the event, every other date that has
documents without an answer is done too. So a DAG that was paused catches up, and an event that comes twice does
nothing twice.

**Params.** `date`: for manual runs, the date to match. `pending`: do the other open dates too (default), or only this.
`engine`: the name of the engine, see `winnow match --help`; all give the same answers.

**Example conf.** `{"date": "2026-11-16"}`, or `{"date": "2026-11-16", "pending": false}` to pass by a date that fails.

**Recovery.** Clear the failed task; every job can be run again. `gate_failed`: nothing was published; read
`quality_results` of the staged version, mend the cause, clear `prepare` and what follows.
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
    named = [f"--date={date}", "{{ '--pending' if params.pending else '' }}", RUN_ID]
    chain(
        date,
        WinnowJob(task_id="prepare", job="prepare", arguments=named),
        WinnowJob(task_id="match_and_audit", job="match_documents", arguments=[*named, ENGINE_ARGUMENT, "--audit"]),
        WinnowJob(task_id="publish", job="publish_matches", arguments=[*named, "--audited"], outlets=[MATCHES]),
        WinnowReport(task_id="report", job="report", arguments=[f"--date={date}"]),
    )


match_documents()
