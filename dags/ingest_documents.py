"""Bring the documents of one day into the lake.

**Purpose.** Every day after midnight (UTC), read `<landing>/<date>/` of the day that ended; add what is new to
`documents`, `document_sources` and `quarantine`. The event on `winnow_documents` carries the date and wakes
`match_documents`.

**Params.** `date`: for manual runs, the date to ingest. `record_tag`: split container files at this element.

**Example conf.** `{"date": "2026-11-16", "record_tag": "PubmedArticle"}`. A range of past dates:
`airflow backfill create --dag-id ingest_documents --from-date 2026-11-02 --to-date 2026-11-04`; its tasks wait
until the day's own have had their turn.

**Recovery.** Running it again for a date is safe: the same bytes are one document. A date without a folder is skipped,
with a sentence in the log. A failed run names its reason in the last line of the task's log, with a code; refused
documents are rows of `quarantine`, not failures.
"""

from airflow.sdk import Param

from winnow.airflow.assets import DOCUMENTS, EACH_DAY
from winnow.airflow.house import date_of_this_run, winnow_dag
from winnow.airflow.operators import WinnowJob
from winnow.airflow.params import date_param
from winnow.airflow.settings import LANDING


@winnow_dag(
    schedule=EACH_DAY,
    doc_md=__doc__,
    tags=["winnow", "documents"],
    params={
        "date": date_param("the date to ingest; only for manual runs"),
        "record_tag": Param(
            None,
            type=["null", "string"],
            pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,99}$",
            description="split container files: each element of this name is a document",
        ),
    },
)
def ingest_documents() -> None:
    date = date_of_this_run()
    WinnowJob(
        task_id="ingest_documents",
        job="ingest_documents",
        arguments=[f"{LANDING}/{date}", "{{ '--record-tag=' ~ params.record_tag if params.record_tag else '' }}"],
        dates=date,
        outlets=[DOCUMENTS],
    )


ingest_documents()
