"""Take the subscribers' profiles of today.

**Purpose.** Every day before the documents: read the profile file, add new and changed profiles to `profiles` (what the
language refuses goes to `rejected_profiles`), and encode them. Documents that come later are asked the new profiles by
themselves; for those that are there already, run `backfill_profiles`.

**Params.** `file`: its name in the profiles folder (CSV or JSONL, also gzipped). `retire_missing`: profiles that the
file no longer holds are retired.

**Example conf.** `{"file": "profiles.jsonl", "retire_missing": true}`

**Recovery.** Running it again is safe. `bad_header` and `unreadable` mean the file: nothing of it was taken.
"""

from airflow.sdk import Param, chain

from winnow.airflow.assets import PROFILES
from winnow.airflow.flow import RUN_ID
from winnow.airflow.house import winnow_dag
from winnow.airflow.operators import WinnowJob
from winnow.airflow.settings import PROFILES_FOLDER


@winnow_dag(
    schedule="30 23 * * *",
    doc_md=__doc__,
    tags=["winnow", "profiles"],
    params={
        "file": Param(
            "profiles.jsonl",
            type="string",
            pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$",
            description="name of a file in the profiles folder",
        ),
        "retire_missing": Param(False, type="boolean", description="retire profiles that the file no longer holds"),
    },
)
def refresh_profiles() -> None:
    chain(
        WinnowJob(
            task_id="ingest_profiles",
            job="ingest_profiles",
            arguments=[
                f"{PROFILES_FOLDER}/{{{{ params.file }}}}",
                "{{ '--retire-missing' if params.retire_missing else '' }}",
            ],
        ),
        WinnowJob(task_id="encode_profiles", job="encode_profiles", arguments=[RUN_ID], outlets=[PROFILES]),
    )


refresh_profiles()
