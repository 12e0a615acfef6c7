"""Ask new profiles of the documents that are there already.

**Purpose.** After `refresh_profiles`: profiles that dates in a range were never asked are matched with the documents of
these dates, and the answers published. Only documents that hold a path of a new profile are looked at again.

**Params.** `from`, `to`: the range of dates, both included; there is no default. `profiles`: only profiles whose id is
like this glob. `engine`: its name, see `winnow match --help`. `dry_run`: only say, for each date, how many documents
and pairs it would be (default).

**Example conf.** `{"from": "2026-11-01", "to": "2026-11-16", "profiles": "desk-7-*", "dry_run": false}`

**Recovery.** Running it again is safe: what was answered is not asked again. The dry run's table is the result of the
task `estimate` (XCom `return_value`), and in its log.
"""

from typing import Any

from airflow.sdk import Param, task
from airflow.sdk.exceptions import AirflowFailException
from winnow_airflow import ENGINE, ENGINE_ARGUMENT, MATCHES, RUN_ID, WinnowJob, calendar_date, date_param, winnow_dag


@task.branch
def interval(params: dict[str, Any] | None = None) -> str:
    """Chooses between the dry run and the work. A run without a range is refused: all of history is no default."""
    given = params or {}
    if not (given.get("from") and given.get("to")):
        raise AirflowFailException('which dates? Trigger with conf {"from": "2026-11-01", "to": "2026-11-16"}')
    first, last = calendar_date(given["from"]), calendar_date(given["to"])
    if first > last:
        raise AirflowFailException(f"`from` ({first}) is after `to` ({last}): swap them")
    return "estimate" if given["dry_run"] else "backfill"


@winnow_dag(
    schedule=None,
    doc_md=__doc__,
    tags=["winnow", "profiles", "matches"],
    params={
        "from": date_param("the first date"),
        "to": date_param("the last date, included"),
        "profiles": Param(
            "*",
            type="string",
            pattern=r"^[A-Za-z0-9_*?\[][A-Za-z0-9_.:/@*?\[\]-]{0,199}$",
            description="only profiles whose id is like this",
        ),
        "engine": ENGINE,
        "dry_run": Param(True, type="boolean", description="only say how many documents and pairs it would be"),
    },
)
def backfill_profiles() -> None:
    dates = ["--from={{ params['from'] }}", "--to={{ params['to'] }}"]
    range_ = [*dates, "--profiles={{ params.profiles }}", ENGINE_ARGUMENT, RUN_ID]
    later = {"priority_weight": 1}  # the day's own work goes first
    interval() >> [
        WinnowJob(task_id="estimate", job="backfill", arguments=[*range_, "--dry-run"], **later),
        WinnowJob(task_id="backfill", job="backfill", arguments=range_, outlets=[MATCHES], **later),
    ]


backfill_profiles()
