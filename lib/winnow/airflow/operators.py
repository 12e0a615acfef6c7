"""The operator of the jobs, and two that do a little more: one plans which dates are done, one writes reports."""

import json
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from airflow.sdk import BaseHook, BaseOperator, conf
from airflow.sdk.bases.skipmixin import SkipMixin
from airflow.sdk.definitions.xcom_arg import XComArg
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from winnow.airflow.links import DataDocsLink, ReportLink
from winnow.airflow.params import date_of_run, range_of_run
from winnow.airflow.priority import DAY_FIRST
from winnow.airflow.running import Done, Reports, counted, run_as_client, submit
from winnow.airflow.settings import CONNECTION

_log = logging.getLogger(__name__)

# Where a job waits for its turn; mapped tasks are given it by name, since Airflow takes no default of a mapped class.
SLOT: dict[str, Any] = {"pool": "spark", "priority_weight": 10, "weight_rule": DAY_FIRST}


class WinnowJob(BaseOperator):
    """A job of `jobs/`, in a session of the Spark that the connection names. Its result is what each job has done.

    With a connection of type `spark_connect` the job's client runs in the task's own process, and all tasks of a DAG
    run share one session of the server. With one of type `spark` the job is submitted, in the job environment.

    :param job: its name, as in `jobs/`.
    :param arguments: what `winnow` takes; one that renders to nothing is left out.
    :param dates: the dates that the job is about, with commas between them or as lists; outlets get them as partitions.
    """

    template_fields: Sequence[str] = ("arguments", "dates")
    ui_color = "#e8f1f6"

    def __init__(self, *, job: str, arguments: Sequence[str] = (), dates: Any = None, **options: Any) -> None:
        super().__init__(**SLOT | options)
        self.job, self.arguments, self.dates = job, list(arguments), dates
        self._stop: Callable[[], Any] = lambda: None
        self._done: Done | None = None

    def execute(self, context: Any) -> Any:
        reports = self.run_job(context)
        self._tell_outlets(reports, context)
        if not reports:
            _log.info("%s: nothing was to be done", self.job)
        return reports

    def on_kill(self) -> None:
        self._stop()

    def run_job(self, context: Any) -> Reports:
        dates = flat(self.dates)
        arguments = [argument for argument in self.arguments if argument]
        arguments += [f"--date{'s' * (len(dates) > 1)}={','.join(dates)}"] if dates else []
        run = run_as_client if BaseHook.get_connection(CONNECTION).conn_type == "spark_connect" else submit
        try:
            self._done = run(self.job, arguments, context, self._stoppable)
        except AirflowSkipException as sentence:
            _log.info("%s", sentence)  # Airflow hides it in a group of lines that is closed
            raise
        return self._done.reports

    def get_openlineage_facets_on_complete(self, _: Any) -> Any:
        if self._done is None:
            return None
        from winnow.airflow.lineage import lineage_of

        return lineage_of(self.job, flat(self.dates), self._done)

    @property
    def span(self) -> str:
        """The first and the last date, for the name of a mapped task."""
        dates = flat(self.dates)
        return " … ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "none"

    def _stoppable(self, stop: Callable[[], Any]) -> None:
        self._stop = stop

    def _tell_outlets(self, reports: Reports, context: Any) -> None:
        counts = counted(reports)
        for asset in self.outlets:
            event = context["outlet_events"][asset]
            event.extra = counts
            event.add_partitions(flat(self.dates))


class PlanDates(WinnowJob, SkipMixin):
    """Asks the ledger which dates have something to do; its result are slices of these dates, to map tasks over.

    The date of the run is a slice of its own, the first one, so that no other date stands in its way. A run that names
    a range does it again. Where nothing is to be done, all that follows is skipped, and the run ends green at once; a
    sentence in the log and the XCom `said` says so.

    :param named: whether the run is about a date, or a range; else it is about whatever is open.
    :param range_only: a range must be given.
    """

    template_fields: Sequence[str] = (*WinnowJob.template_fields, "per_slice")

    def __init__(self, *, named: bool = True, range_only: bool = False, **options: Any) -> None:
        super().__init__(job="open_dates", **options)
        self.named, self.range_only = named, range_only
        self.per_slice = "{{ params.slice }}"

    def execute(self, context: Any) -> list[list[str]]:
        own = self._name_dates(context)
        found = [report["job"] for report in self.run_job(context)]
        if not found:
            what = " ".join([*self.arguments, *own])
            said = f"nothing is to be done ({what}): all documents there are have been asked all profiles"
            _log.info("%s", said)
            context["ti"].xcom_push(key="said", value=said)
            self.skip(context["ti"], self.get_flat_relatives(upstream=False))
        first = [own] if set(own) <= set(found) and own else []
        return first + slices([date for date in found if date not in own], int(self.per_slice))

    def _name_dates(self, context: Any) -> list[str]:
        """Adds what the run says to the arguments; returns the date that it is about, if it is about one."""
        params, key = context["params"], context["dag_run"].partition_key
        if not self.named:
            return []
        if self.range_only or params.get("from") or params.get("to"):
            if params.get("date") or key:
                raise AirflowFailException("a date and a range: leave out one of them")
            first, last = range_of_run(params)
            self.arguments += [f"--from={first}", f"--to={last}", "--again"]
            return []
        self.arguments += ["--pending"] if params.get("pending") else []
        own = [date_of_run(params, key)]
        self.dates = own
        return own


class WinnowReport(WinnowJob):
    """Writes the pages of some dates, whatever became of them; its result is the place of the last one.

    :param wanted: a template that says `False` where no page is to be written.
    """

    template_fields: Sequence[str] = (*WinnowJob.template_fields, "wanted")
    operator_extra_links = (ReportLink(),)

    def __init__(self, *, wanted: str = "True", **options: Any) -> None:
        super().__init__(**options)
        self.wanted = wanted

    def execute(self, context: Any) -> str:
        if self.wanted == "False":
            raise AirflowSkipException("a dry run changes nothing: no page is written")
        self.arguments.append(f"--scheduler={json.dumps(told_of(context))}")
        reports = super().execute(context)
        self.place = str(reports[-1]["place"])
        return self.place


class WinnowAudit(WinnowJob):
    """The quality gate. Its Data Docs are linked from the task, also where it has failed; those of several dates by the
    index of all dates.
    """

    operator_extra_links = (DataDocsLink(),)

    def execute(self, context: Any) -> Any:
        from winnow.quality.data_docs import newest_page_name

        dates = flat(self.dates)
        self.data_docs = newest_page_name(dates[0]) if len(dates) == 1 else "index.html"
        return super().execute(context)


def told_of(context: Any) -> dict[str, Any]:
    """Returns what the page says of the DAG run: its name, its address and how its tasks have ended."""
    dag, run = context["dag"].dag_id, context["run_id"]
    states: dict[str, str] = context["ti"].get_task_states(dag, run_ids=[run]).get(run, {})
    base = conf.get("api", "base_url", fallback="").rstrip("/")
    address = f"{base}/dags/{dag}/runs/{quote(run, safe='')}" if base else ""
    own = context["ti"].task_id
    return {"run_id": run, "address": address, "tasks": {name: state for name, state in states.items() if name != own}}


def flat(dates: Any) -> list[str]:
    """Returns dates in order, each once.

    >>> flat([["2026-11-03"], ["2026-11-02", "2026-11-03"]]), flat("2026-11-03,2026-11-02"), flat(None)
    (['2026-11-02', '2026-11-03'], ['2026-11-02', '2026-11-03'], [])
    """
    if not dates or isinstance(dates, XComArg):
        return []
    if isinstance(dates, str):
        return sorted(set(dates.split(",")))
    return sorted({date for part in dates for date in flat(part)})


def slices(dates: Iterable[str], size: int) -> list[list[str]]:
    """
    >>> slices(["2026-11-02", "2026-11-03", "2026-11-04"], 2)
    [['2026-11-02', '2026-11-03'], ['2026-11-04']]
    """
    ordered = flat(list(dates))
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]
