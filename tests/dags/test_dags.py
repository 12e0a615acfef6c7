"""The rules that every DAG keeps, checked as Airflow sees them; nothing runs here."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

PYTHON = ROOT / ".venv-airflow" / "bin" / "python"
DAGS = {
    "ingest_documents": "CronPartitionTimetable",
    "match_documents": "PartitionedAssetTimetable",
    "refresh_profiles": "CronTriggerTimetable",
    "backfill_profiles": "NullTimetable",
    "maintain_tables": "CronTriggerTimetable",
    "reconcile": "CronTriggerTimetable",
}
EDGES = {
    "ingest_documents": ["interval", "ingest_documents"],
    "match_documents": ["interval", "prepare", "match_and_audit", "publish", "report"],
    "refresh_profiles": ["ingest_profiles", "encode_profiles"],
    "maintain_tables": ["maintain_tables"],
    "reconcile": ["prepare", "match_and_audit", "publish"],
}
PARSE_SECONDS = 10  # all DAGs, on a busy machine; well below one on a quiet one
Inspected = dict[str, Any]

pytestmark = pytest.mark.airflow


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    home = tmp_path_factory.mktemp("airflow")
    # The DAG processor puts the DAGs' folder on the path too.
    env = {**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    env |= {"PYTHONPATH": str(ROOT / "dags")}
    script = Path(__file__).with_name("inspect_dags.py")
    done = subprocess.run(
        [PYTHON, script, ROOT / "dags"], capture_output=True, text=True, env=env, cwd=home, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert lines, done.stderr
    result: Inspected = json.loads(lines[0].removeprefix("RESULT"))
    return result


@pytest.fixture(scope="module")
def tasks(inspected: Inspected) -> dict[str, dict[str, Any]]:
    return {f"{name}.{key}": task for name, dag in inspected["dags"].items() for key, task in dag["tasks"].items()}


def test_all_import_and_nothing_heavy_with_them(inspected: Inspected) -> None:
    assert inspected["errors"] == {}
    assert inspected["heavy"] == []
    assert {name: dag["schedule"] for name, dag in inspected["dags"].items()} == DAGS
    assert inspected["seconds"] < PARSE_SECONDS
    assert all(dag["serialized"] for dag in inspected["dags"].values())


def test_runs_are_bounded(inspected: Inspected) -> None:
    for dag in inspected["dags"].values():
        assert not dag["catchup"]
        assert dag["max_active_runs"] == 1
        assert dag["dagrun_timeout"]
        assert dag["max_consecutive_failed_dag_runs"]


def test_every_dag_has_a_manual(inspected: Inspected) -> None:
    for name, dag in inspected["dags"].items():
        assert "winnow" in dag["tags"]
        for part in ("**Purpose.**", "**Params.**", "**Example conf.**", "**Recovery.**"):
            assert part in dag["doc"], name
        assert all(f"`{param}`" in dag["doc"] for param in dag["params"]), name
        example = re.search(r"\*\*Example conf\.\*\* `(\{.*?\})`", dag["doc"])
        assert example
        assert set(json.loads(example[1])) <= set(dag["params"]), name


def test_every_task_has_owner_retries_timeout_and_pool(tasks: dict[str, dict[str, Any]]) -> None:
    for name, task in tasks.items():
        assert task["owner"] == "winnow", name
        assert task["retries"] >= 1, name
        assert task["timeout"], name
        assert task["trigger_rule"] == "all_success", name
        is_job = task["application"] is not None
        assert task["pool"] == ("spark" if is_job else "default_pool"), name
        assert not is_job or Path(task["application"]).is_relative_to(ROOT / "jobs"), name


def test_every_job_exists(tasks: dict[str, dict[str, Any]]) -> None:
    applications = {task["application"] for task in tasks.values()} - {None}
    assert all(Path(application).is_file() for application in applications)


def test_vital_edges(inspected: Inspected) -> None:
    for name, chain in EDGES.items():
        found = {key: task["upstream"] for key, task in inspected["dags"][name]["tasks"].items()}
        assert found == {key: chain[max(0, at - 1) : at] for at, key in enumerate(chain)}
    branches = inspected["dags"]["backfill_profiles"]["tasks"]
    assert {key: task["upstream"] for key, task in branches.items()} == {
        "interval": [],
        "estimate": ["interval"],
        "backfill": ["interval"],
    }


def test_only_what_was_audited_is_published(inspected: Inspected) -> None:
    for name in ("match_documents", "reconcile"):
        found = inspected["dags"][name]["tasks"]
        assert "--audit" in found["match_and_audit"]["arguments"]
        assert "--audited" in found["publish"]["arguments"]


def test_assets(tasks: dict[str, dict[str, Any]]) -> None:
    assert {name: task["outlets"] for name, task in tasks.items() if task["outlets"]} == {
        "ingest_documents.ingest_documents": ["winnow_documents"],
        "refresh_profiles.encode_profiles": ["winnow_profiles"],
        "match_documents.publish": ["winnow_matches"],
        "reconcile.publish": ["winnow_matches"],
        "backfill_profiles.backfill": ["winnow_matches"],
    }
    assert tasks["match_documents.report"]["links"] == ["Run report"]


def test_params_are_typed_and_refuse_what_is_no_value(inspected: Inspected) -> None:
    for name, dag in inspected["dags"].items():
        assert dag["accepted"] == [], name
        assert all(param["schema"].get("type") for param in dag["params"].values()), name


def test_a_value_never_becomes_a_second_argument(tasks: dict[str, dict[str, Any]]) -> None:
    for task in tasks.values():
        for argument in task["arguments"] or []:
            templated = "{{" in argument
            assert not templated or argument.startswith(("--", "/", "{{ '--")), argument
            assert "--" not in argument.removeprefix("{{ '").removeprefix("--"), argument


def test_bad_data_fails_at_once_and_all_else_is_tried_again(inspected: Inspected) -> None:
    fails = {code: found[0] for code, found in inspected["causes"].items()}
    assert fails == {"65": True, "2": True, "75": False, "1": False, "137": False, "None": False}
    assert inspected["causes"]["65"][1] == "gate_failed: so (then)"
    assert inspected["causes"]["1"][1] == "spark-submit failed"
    assert inspected["counts"] == {"read": 3, "stored": 1002}
