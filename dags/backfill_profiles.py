"""Ask new profiles of the documents that are there already.

**Purpose.** After `refresh_profiles`: profiles that dates in a range were never asked are matched with the documents of
these dates, and the answers published. Only documents that hold a path of a new profile are looked at again. History is
done in slices, the mapped tasks of `backfill`: one after the other, each judged and published before the next begins.

**Params.** `from`, `to`: the range of dates, both included; there is no default. `profiles`: only profiles whose id is
like this glob. `slice`: how many dates at a time. `engine`: its name, see `winnow match --help`. `dry_run`: only say,
for each date, how many documents and pairs it would be (default).

**Example conf.** `{"from": "2026-11-01", "to": "2026-11-16", "profiles": "desk-7-*", "dry_run": false}`

**Recovery.** Stop it by marking the run as failed; to go on, clear its failed tasks: slices that are done are not done
again. Running all of it again is safe, too: what was answered is not asked again. The dry run's table is the result of
the task `estimate` (XCom `return_value`), and in its log.
"""

import datetime as dt
from typing import Any

from airflow.sdk import Param, task

from winnow.airflow.assets import MATCHES
from winnow.airflow.flow import ALL_DATES, SPAN
from winnow.airflow.house import winnow_dag
from winnow.airflow.operators import SLOT, PlanDates, WinnowJob, WinnowReport
from winnow.airflow.params import date_param, engine_param, slice_param

LATER = SLOT | {"priority_weight": 1}  # the day's own work goes first


@winnow_dag(
    schedule=None,
    dagrun_timeout=dt.timedelta(days=7),  # history may be long; a slice is bounded as every task is
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
        "slice": slice_param(),
        "engine": engine_param(),
        "dry_run": Param(True, type="boolean", description="only say how many documents and pairs it would be"),
    },
)
def backfill_profiles() -> None:
    arguments = ["--profiles={{ params.profiles }}", "--engine={{ params.engine }}", "--run-id={{ run_id }}"]
    dates = PlanDates(task_id="dates", range_only=True, **LATER)
    estimate = WinnowJob(
        task_id="estimate", job="backfill", arguments=[*arguments, "--dry-run"], dates=ALL_DATES, **LATER
    )
    backfill = WinnowJob.partial(
        task_id="backfill",
        job="backfill",
        arguments=arguments,
        outlets=[MATCHES],
        max_active_tis_per_dagrun=1,
        map_index_template=SPAN,
        **LATER,
    ).expand(dates=dates.output)
    report = WinnowReport(
        task_id="report",
        job="report",
        dates=ALL_DATES,
        wanted="{{ not params.dry_run }}",
        **LATER,
    )
    dates >> which() >> [estimate, backfill]
    backfill >> report.as_teardown()


@task.branch
def which(params: dict[str, Any] | None = None) -> str:
    """Chooses between the dry run and the work."""
    return "estimate" if params and params["dry_run"] else "backfill"


backfill_profiles()
