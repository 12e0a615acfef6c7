"""Where things are: the deployment's environment says it (infra/airflow/airflow.env), never a run's parameter."""

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

HOME = os.environ.get("WINNOW_HOME") or str(Path.cwd())
LAKE = os.environ.get("WINNOW_LAKE") or f"{HOME}/.winnow/lake"
LANDING = os.environ.get("WINNOW_LANDING") or f"{HOME}/.winnow/landing"  # one folder a date: <landing>/2026-11-16/
PROFILES_FOLDER = os.environ.get("WINNOW_PROFILES") or f"{LANDING}/profiles"
START = dt.datetime.fromisoformat(os.environ.get("WINNOW_START") or "2026-01-01").replace(tzinfo=dt.UTC)

CONNECTION = os.environ.get("WINNOW_CONNECTION") or "winnow_spark"  # of type spark_connect, or spark
SPARK_CONF = os.environ.get("WINNOW_SPARK_CONF") or f"{HOME}/infra/spark/local"  # these three for spark-submit
JOB_BIN = os.environ.get("WINNOW_JOB_BIN") or f"{HOME}/.venv/bin"
RESULTS_FOLDER = os.environ.get("WINNOW_RESULTS") or None  # that driver and task both reach; none: a temporary one

RETRY_SECONDS = float(os.environ.get("WINNOW_RETRY_SECONDS") or 60)
NOTIFIER = os.environ.get("WINNOW_NOTIFIER") or ""  # the class of a notifier, e.g. of Airflow's provider for SMTP
NOTIFIER_OPTIONS: dict[str, Any] = json.loads(os.environ.get("WINNOW_NOTIFIER_OPTIONS") or "{}")
DEADLINE_MINUTES = float(os.environ.get("WINNOW_DEADLINE_MINUTES") or 120)
