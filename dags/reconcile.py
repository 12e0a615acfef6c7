"""Do what was left open, whatever the reason.

**Purpose.** Every morning: match, judge and publish each date that has documents without an answer, and publish what
was audited but not published. Asset events can be lost (a consumer that was paused, a scheduler that was killed); the
ledger is not. On a quiet day this finds nothing, says so and is done in seconds.

**Params.** `slice`: how many dates at a time.

**Example conf.** `{"slice": 1}`

**Recovery.** Clear the failed tasks. A date that fails every day is named in the log of `audit`; see `match_documents`.
"""

from winnow.airflow.flow import answer_open_dates
from winnow.airflow.house import winnow_dag
from winnow.airflow.operators import PlanDates
from winnow.airflow.params import slice_param


@winnow_dag(schedule="0 5 * * *", doc_md=__doc__, tags=["winnow", "matches"], params={"slice": slice_param()})
def reconcile() -> None:
    answer_open_dates(PlanDates(task_id="dates", named=False, arguments=["--pending"]))


reconcile()
