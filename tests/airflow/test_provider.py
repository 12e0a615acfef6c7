"""The package for Airflow on its own, as Airflow finds and loads it. Runs in the Airflow environment, without a DAG."""

import json
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest
from airflow.providers_manager import ProvidersManager
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from airflow.serialization.serialized_objects import _get_registered_priority_weight_strategy
from fastapi.testclient import TestClient

from airflow import plugins_manager
from winnow.airflow import get_provider_info, report_pages
from winnow.airflow.lineage import lineage_of
from winnow.airflow.notifications import FileNotifier
from winnow.airflow.operators import PlanDates
from winnow.airflow.params import date_of_run, range_of_run
from winnow.airflow.priority import DAY_FIRST, DayFirst
from winnow.airflow.running import Done, by_cause, counted, session_id

DAY = "2026-11-16"


def test_airflow_knows_the_provider() -> None:
    schema = json.loads(resources.files("airflow").joinpath("provider_info.schema.json").read_text())
    jsonschema.validate(get_provider_info(), schema)
    assert ProvidersManager().providers["winnow"].data["name"] == "Winnow"
    links = ProvidersManager().extra_links_class_names
    assert set(get_provider_info()["extra-links"]) <= set(links)


def test_airflow_loads_the_plugin() -> None:
    apps, _ = plugins_manager.get_fastapi_plugins()
    assert "/winnow/reports" in {app["url_prefix"] for app in apps}
    assert _get_registered_priority_weight_strategy(DAY_FIRST) is DayFirst


@pytest.mark.parametrize(("run_id", "weight"), [("scheduled__1", 10), ("manual__1", 10), ("backfill__1", 1)])
def test_tasks_of_a_backfill_weigh_a_tenth(run_id: str, weight: int) -> None:
    task: Any = SimpleNamespace(task=SimpleNamespace(priority_weight=10), run_id=run_id)
    assert DayFirst().get_weight(task) == weight


def test_a_run_has_one_date() -> None:
    assert date_of_run({"date": DAY}, None) == date_of_run({}, DAY) == date_of_run({"date": DAY}, DAY) == DAY
    refused = [({}, None), ({"date": "2026-11-15"}, DAY), ({"date": "2026-11-31"}, None), ({"date": "today"}, None)]
    for params, key in refused:
        with pytest.raises(AirflowFailException, match="date"):
            date_of_run(params, key)


def test_a_range_has_two_ends() -> None:
    assert range_of_run({"from": "2026-11-01", "to": DAY}) == ("2026-11-01", DAY)
    for params in ({}, {"from": DAY}, {"to": DAY}, {"from": DAY, "to": "2026-11-01"}):
        with pytest.raises(AirflowFailException):
            range_of_run(params)


def test_a_date_and_a_range_are_refused_together() -> None:
    context = {"params": {"date": DAY, "from": DAY, "to": DAY}, "dag_run": SimpleNamespace(partition_key=None)}
    with pytest.raises(AirflowFailException, match="leave out one"):
        PlanDates(task_id="dates").execute(context)


@pytest.mark.parametrize(
    ("code", "exit_code", "kind"),
    [
        ("gate_failed", 65, AirflowFailException),
        ("bad_lake", 2, AirflowFailException),
        ("table_conflict", 75, AirflowException),
        ("server_lost", 75, AirflowException),
        ("failed", 1, AirflowException),
        ("no_input", 2, AirflowSkipException),
    ],
)
def test_what_is_tried_again_is_told_by_the_code(code: str, exit_code: int, kind: type[Exception]) -> None:
    assert type(by_cause(code, "words", exit_code)) is kind


def test_a_run_that_is_started_again_has_a_session_of_its_own() -> None:
    runs = [SimpleNamespace(dag_id="d", run_id="r", start_date=day) for day in ("1", "1", "2")]
    first, same, later = map(session_id, runs)
    assert first == same != later


def test_failures_and_delays_are_lines_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "{{ run_id }}.jsonl"
    task = SimpleNamespace(dag_id="match_documents", run_id="r", task_id="audit")
    run = SimpleNamespace(partition_key=DAY)
    FileNotifier(file=str(file))({"ti": task, "dag_run": run, "run_id": "d", "exception": ValueError("gate_failed: …")})
    late = {"dag_run": {"dag_id": "match_documents", "dag_run_id": "r"}, "deadline": {"deadline_time": "06:00"}}
    FileNotifier(file=str(tmp_path / "d.jsonl")).notify(late)
    failed, delayed = map(json.loads, (tmp_path / "d.jsonl").read_text().splitlines())
    assert failed == {
        **{"what": "failed", "dag": "match_documents", "run": "r", "date": DAY, "task": "audit"},
        "error": "gate_failed: …",
    }
    assert (delayed["what"], delayed["error"]) == ("late", "not done by 06:00")


def test_lineage_has_versions_and_the_columns_of_the_contracts() -> None:
    done = Done([{"job": "publish_matches", "counts": {"published": 3}}], {"matches_staged": 4}, {"matches": 7})
    lineage = lineage_of("publish_matches", [DAY], done)
    (staged,), (matches,) = lineage.inputs, lineage.outputs
    assert staged.facets["version"].datasetVersion == "4"
    assert matches.facets["version"].datasetVersion == "7"
    assert {"document_id", "profile_id", "witness"} <= {field.name for field in matches.facets["schema"].fields}
    assert lineage.run_facets["winnow"].counts == {"published": 3}


def test_counts_of_slices_are_added() -> None:
    assert counted([{"counts": {"a": 1}}, {"counts": {"a": 2, "b": 3}}]) == {"a": 3, "b": 3}


def test_pages_are_for_people_who_are_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "_reports").mkdir()
    (tmp_path / "_reports" / f"{DAY}.html").write_text("<html>secret</html>")
    (tmp_path / "x.html").write_text("<html>not a report</html>")
    monkeypatch.setattr(report_pages, "LAKE", str(tmp_path))
    client = TestClient(report_pages.app, follow_redirects=False)
    answer = client.get(f"/{DAY}.html", headers={"accept": "application/json"})
    assert answer.status_code == 401
    assert "secret" not in answer.text
    assert report_pages.read_page(f"{DAY}.html") == b"<html>secret</html>"
    names = ("../x.html", "..%2fx.html", "/etc/passwd", "x.txt", ".html", "absent.html", f"./{DAY}.html", "")
    assert [report_pages.read_page(name) for name in names] == [None] * len(names)
