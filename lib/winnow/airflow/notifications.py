"""Who is told that a task has failed or a run is late: the notifier that the deployment chooses, or nobody.

WINNOW_NOTIFIER names a class of Airflow's notifiers, e.g. `airflow.providers.smtp.notifications.smtp.SmtpNotifier`, and
WINNOW_NOTIFIER_OPTIONS its arguments as JSON; these may hold templates, such as `{{ exception }}`.
"""

import datetime as dt
import json
from typing import Any

from airflow.sdk import BaseNotifier
from airflow.sdk._shared.module_loading import import_string
from airflow.sdk.definitions.callback import AsyncCallback, SyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from winnow.airflow.settings import DEADLINE_MINUTES, NOTIFIER, NOTIFIER_OPTIONS


def on_failure() -> list[BaseNotifier]:
    """Returns the callbacks of a task that has failed for good."""
    return [import_string(NOTIFIER)(**NOTIFIER_OPTIONS)] if NOTIFIER else []


def when_late() -> DeadlineAlert | None:
    """Returns the alert for a run that is not done in time."""
    if not NOTIFIER:
        return None
    is_async = import_string(NOTIFIER).async_notify is not BaseNotifier.async_notify
    return DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=dt.timedelta(minutes=DEADLINE_MINUTES),
        callback=(AsyncCallback if is_async else SyncCallback)(NOTIFIER, kwargs=NOTIFIER_OPTIONS),
    )


class FileNotifier(BaseNotifier):
    """Appends one line of JSON for each event to a file, for whatever watches it.

    :param file: its name on the host where tasks and triggers run.
    """

    template_fields = ("file",)

    def __init__(self, *, file: str, **options: Any) -> None:
        super().__init__(**options)
        self.file = file

    def notify(self, context: Any) -> None:
        with open(self.file, "a") as stream:
            stream.write(json.dumps(event_of(context)) + "\n")

    async def async_notify(self, context: Any) -> None:
        self.notify(context)


def event_of(context: Any) -> dict[str, Any]:
    """Returns what has happened, from what Airflow gives to a notifier: of a task, or of a deadline."""
    if "deadline" in context:
        run = context["dag_run"]
        known = {"what": "late", "dag": run["dag_id"], "run": run["dag_run_id"], "date": run.get("partition_key")}
        return {**known, "error": f"not done by {context['deadline']['deadline_time']}"}
    task, run = context["ti"], context["dag_run"]
    known = {"what": "failed", "dag": task.dag_id, "run": task.run_id, "date": getattr(run, "partition_key", None)}
    return {**known, "task": task.task_id, "error": str(context.get("exception") or "")}
