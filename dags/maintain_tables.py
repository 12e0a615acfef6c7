"""Keep the tables fit.

**Purpose.** Every Sunday: merge small files, remove files that no version within the retention names (among them those
of killed runs), and say how many files each table has; rows never change. Then `sample_values` estimates anew how rare
labels and values are, which engines wait for: a matter of cost, never of answers.

**Params.** `retention_hours`: how far time travel reaches back; not below a week.

**Example conf.** `{"retention_hours": 720}`

**Recovery.** Running it again is safe.
"""

from airflow.sdk import Param, chain

from winnow.airflow.flow import RUN_ID
from winnow.airflow.house import winnow_dag
from winnow.airflow.operators import WinnowJob


@winnow_dag(
    schedule="0 6 * * 0",
    doc_md=__doc__,
    tags=["winnow", "maintenance"],
    params={
        "retention_hours": Param(
            720, type="integer", minimum=168, maximum=87600, description="how many hours time travel reaches back"
        )
    },
)
def maintain_tables() -> None:
    chain(
        WinnowJob(
            task_id="maintain_tables",
            job="maintain",
            arguments=["--retention-hours={{ params.retention_hours }}", RUN_ID],
            priority_weight=1,
        ),
        WinnowJob(task_id="sample_values", job="sample_values", arguments=[RUN_ID], priority_weight=1),
    )


maintain_tables()
