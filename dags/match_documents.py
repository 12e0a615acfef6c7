"""Match the documents of a date with all profiles, judge the answers, publish them.

**Purpose.** Woken by every event on `winnow_documents`. One task for each job: encode what is new, bring the index up
to date, join it with new paths, stage the answers; `audit` lets the quality gate judge them, `publish` makes exactly
the audited version the content of `matches`, `report` writes the page of the date, also when the gate has failed (see
the task's link *Run report*, and *Data Docs* of `audit`).

Events only wake. What is to do is read from the ledger by `dates`: the date of the event, and every other date that has
documents without an answer. So a DAG that was paused catches up, and an event that comes twice does nothing twice: the
run then ends green at once, and says so. Many dates are done in slices, which are the mapped tasks of the group
`answer`: one slice after the other, each with a gate of its own.

**Params.** `date`: for manual runs, the date to match. `pending`: do the other open dates too (default), or only this.
`from`, `to`: do every date of a range again, all profiles asked of all documents. `slice`: how many dates at a time.
`engine`: the name of the engine, see `winnow match --help`; all give the same answers.

**Example conf.** `{"date": "2026-11-16"}`, or `{"date": "2026-11-16", "pending": false}` to pass by a date that fails,
or `{"from": "2026-11-01", "to": "2026-11-16", "slice": 4}`.

**Recovery.** Clear the failed tasks; every job can be run again, and slices that are done are not done again.
`gate_failed`: nothing of that slice's failed date was published; the error names the failing checks and
`quality_results` has them all; mend the cause, clear `encode_documents` and what follows.
"""

from airflow.sdk import Param

from winnow.airflow.assets import ON_DOCUMENTS
from winnow.airflow.flow import answer_open_dates
from winnow.airflow.house import winnow_dag
from winnow.airflow.operators import PlanDates
from winnow.airflow.params import date_param, engine_param, slice_param


@winnow_dag(
    schedule=ON_DOCUMENTS,
    doc_md=__doc__,
    tags=["winnow", "matches"],
    params={
        "date": date_param("the date to match; only for manual runs"),
        "pending": Param(True, type="boolean", description="every other open date too"),
        "from": date_param("the first date of a range that is done again"),
        "to": date_param("the last one, included"),
        "slice": slice_param(),
        "engine": engine_param(),
    },
)
def match_documents() -> None:
    again = "{{ '--full' if params['from'] else '' }}"
    answer_open_dates(PlanDates(task_id="dates"), engine=["--engine={{ params.engine }}"], match_arguments=[again])


match_documents()
