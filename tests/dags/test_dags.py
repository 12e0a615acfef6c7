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
GROUPS = {  # of the picture in the README
    "encode": ["encode_documents", "encode_profiles"],
    "index": ["build_index", "join_paths"],
    "answer": ["audit", "match", "publish"],
}
FLOW = {  # each task, and what it waits for
    "dates": [],
    "encode_documents": ["dates"],
    "encode_profiles": ["dates"],
    "build_index": ["encode_documents", "encode_profiles"],
    "join_paths": ["build_index"],
    "match": ["dates", "join_paths"],  # it is mapped over the slices of dates
    "audit": ["match"],
    "publish": ["audit"],
    "report": ["publish"],
}
EDGES = {
    "ingest_documents": {"date": [], "ingest_documents": ["date"]},
    "match_documents": FLOW,
    "refresh_profiles": {"ingest_profiles": [], "encode_profiles": ["ingest_profiles"]},
    "maintain_tables": {"maintain_tables": [], "sample_values": ["maintain_tables"]},
    "reconcile": FLOW,
    "backfill_profiles": {
        "dates": [],
        "which": ["dates"],
        "estimate": ["which"],
        "backfill": ["dates", "which"],
        "report": ["backfill"],
    },
}
NOTIFIER = "winnow.airflow.notifications.FileNotifier"
PARSE_SECONDS = 10  # all DAGs, on a busy machine; well below one on a quiet one
Inspected = dict[str, Any]

pytestmark = pytest.mark.airflow


@pytest.fixture(scope="module")
def inspected(tmp_path_factory: pytest.TempPathFactory) -> Inspected:
    home = tmp_path_factory.mktemp("airflow")
    # The DAG processor puts the DAGs' folder on the path too.
    env = {**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    env |= {"PYTHONPATH": str(ROOT / "dags"), "WINNOW_NOTIFIER": NOTIFIER}
    env |= {"WINNOW_NOTIFIER_OPTIONS": json.dumps({"file": str(home / "events.jsonl")})}
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
        assert task["pool"] == ("spark" if task["job"] else "default_pool"), name
        is_report = task["job"] == "report"  # a teardown: written whatever became of the others
        assert task["trigger_rule"] == ("all_done_setup_success" if is_report else "all_success"), name
        assert task["teardown"] == is_report, name
        assert task["told"] == 1, name  # somebody hears of a failure


def test_every_job_has_an_entry_and_every_entry_a_dag(tasks: dict[str, dict[str, Any]]) -> None:
    entries = {file.stem for file in (ROOT / "jobs").glob("*.py")}
    assert {task["job"] for task in tasks.values()} - {None} == entries - {"run"}  # all of them in one session


def test_vital_edges(inspected: Inspected) -> None:
    for name, edges in EDGES.items():
        assert {key: task["upstream"] for key, task in inspected["dags"][name]["tasks"].items()} == edges, name


def test_the_graph_is_the_picture_of_the_readme(inspected: Inspected) -> None:
    for name in ("match_documents", "reconcile"):
        dag = inspected["dags"][name]
        assert dag["groups"] == GROUPS
        assert sorted(key for key, task in dag["tasks"].items() if task["mapped"]) == GROUPS["answer"]
    assert inspected["dags"]["backfill_profiles"]["tasks"]["backfill"]["mapped"]


def test_the_day_goes_before_a_backfill(tasks: dict[str, dict[str, Any]]) -> None:
    weights = {name: task["weight"] for name, task in tasks.items() if task["job"]}
    later = {name: weight for name, weight in weights.items() if name.startswith(("backfill_profiles.", "maintain_"))}
    assert set(later.values()) == {1}
    assert set(weights.values()) - {1} == {10}
    assert {name for name, weight in weights.items() if weight == 1} == set(later)


def test_only_what_was_audited_is_published(inspected: Inspected) -> None:
    for name in ("match_documents", "reconcile"):
        found = inspected["dags"][name]["tasks"]
        assert found["publish"]["upstream"] == ["audit"]
        assert "--audited" in found["publish"]["arguments"]


def test_assets(tasks: dict[str, dict[str, Any]]) -> None:
    assert {name: task["outlets"] for name, task in tasks.items() if task["outlets"]} == {
        "ingest_documents.ingest_documents": ["winnow_documents"],
        "refresh_profiles.encode_profiles": ["winnow_profiles"],
        "match_documents.publish": ["winnow_matches"],
        "reconcile.publish": ["winnow_matches"],
        "backfill_profiles.backfill": ["winnow_matches"],
    }
    for dag in ("match_documents", "reconcile"):
        assert tasks[f"{dag}.report"]["links"] == ["Run report"]
        assert tasks[f"{dag}.audit"]["links"] == ["Data Docs"]


def test_params_are_typed_and_refuse_what_is_no_value(inspected: Inspected) -> None:
    for name, dag in inspected["dags"].items():
        assert dag["accepted"] == [], name
        assert all(param["schema"].get("type") for param in dag["params"].values()), name
        assert all(param["description"] for param in dag["params"].values()), name


def test_a_value_never_becomes_a_second_argument(tasks: dict[str, dict[str, Any]]) -> None:
    for task in tasks.values():
        for argument in task["arguments"] or []:
            templated = "{{" in argument
            assert not templated or argument.startswith(("--", "/", "{{ '--")), argument
            assert "--" not in argument.removeprefix("{{ '").removeprefix("--"), argument


def test_bad_data_fails_at_once_and_all_else_is_tried_again(inspected: Inspected) -> None:
    assert inspected["causes"] == {
        "gate_failed": "AirflowFailException",
        "bad_lake": "AirflowFailException",
        "table_conflict": "AirflowException",
        "failed": "AirflowException",
        "no_input": "AirflowSkipException",
    }


def test_the_form_offers_the_engines_that_there_are(inspected: Inspected) -> None:
    from winnow.engines import ENGINES

    for name in ("match_documents", "backfill_profiles"):
        assert inspected["dags"][name]["params"]["engine"]["schema"]["examples"] == list(ENGINES)
