"""Do what was left open, whatever the reason.

**Purpose.** Every morning: match, judge and publish each date that has documents without an answer, and publish what
was audited but not published. Asset events can be lost (a consumer that was paused, a scheduler that was killed); the
ledger is not. On a quiet day this finds nothing and is done in seconds.

**Params.** None.

**Example conf.** `{}`

**Recovery.** Clear the failed task. A date that fails every day is named in the task's log; see `match_documents`.
"""

from airflow.sdk import chain
from winnow_airflow import MATCHES, RUN_ID, WinnowJob, winnow_dag

OPEN = ["--pending", RUN_ID]


@winnow_dag(schedule="0 5 * * *", doc_md=__doc__, tags=["winnow", "matches"])
def reconcile() -> None:
    chain(
        [
            WinnowJob(task_id="encode_documents", job="encode_documents", arguments=OPEN),
            WinnowJob(task_id="encode_profiles", job="encode_profiles", arguments=[RUN_ID]),
        ],
        WinnowJob(task_id="build_index", job="build_index", arguments=[RUN_ID]),
        WinnowJob(task_id="join_paths", job="join_paths", arguments=[RUN_ID]),
        WinnowJob(task_id="match", job="match_documents", arguments=OPEN),
        WinnowJob(task_id="audit", job="audit_matches", arguments=["--pending"]),
        WinnowJob(task_id="publish", job="publish_matches", arguments=[*OPEN, "--audited"], outlets=[MATCHES]),
    )


reconcile()
