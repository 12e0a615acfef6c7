"""Backfills as people of Airflow do them: watched, stopped in the middle, gone on with."""

from collections.abc import Iterator

import pytest

from dags.live import PATIENCE, PROFILES, Live, live_airflow
from jobs.lakes import published, reference, rows
from jobs.slow import nightly

pytestmark = [pytest.mark.airflow, nightly]

DATES = ("2026-11-02", "2026-11-03", "2026-11-04")
LATER = {"profile_id": "later-1", "xpath": "//caption"}
SPAN = {"from": DATES[0], "to": DATES[-1], "slice": 1}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live_airflow(tmp_path_factory.mktemp("backfills")) as found:
        found.declare(PROFILES)
        assert found.run("refresh_profiles")[1] == "success"
        for number, date in enumerate(DATES):
            found.land(date, seed=number)
        yield found


def test_a_backfill_of_the_ingest_wakes_the_matching_date_by_date(live: Live) -> None:
    dates = ["--from-date", DATES[0], "--to-date", DATES[-1]]
    live.airflow.airflow("backfill", "create", "--dag-id", "ingest_documents", *dates)
    for date in DATES:
        assert live.state_of("ingest_documents", date) == "success"
        assert live.state_of("match_documents", date) == "success"
    woken = live.client.runs("match_documents")
    assert sorted(run["partition_key"] for run in woken) == list(DATES)
    assert {run["run_type"] for run in woken} == {"asset_triggered"}
    assert published(live.lake) == reference(live.lake)
    once = [row["match_date"] for row in rows(live.lake, "runs") if row["outcome"] == "published"]
    assert len(once) == len(set(once)) == len(DATES)  # whichever run did a date, no other one did it again


def test_a_range_is_done_again_stopped_and_gone_on_with(live: Live) -> None:
    before = published(live.lake)
    dag, run_id = "match_documents", live.client.trigger("match_documents", SPAN)
    live.wait_for_task(dag, run_id, "publish[0]", "success")
    live.wait_for_task(dag, run_id, "match[1]", "running", "success")
    live.client.fail_run(dag, run_id)
    live.wait_for_task(dag, run_id, "publish[1]", "failed", "skipped", "upstream_failed", "None")
    done = live.client.tasks(dag, run_id)["match[0]"]
    assert published(live.lake) == before  # what is done, and what is left, are the same answers
    live.client.clear(dag, run_id)
    assert live.client.wait(dag, run_id, seconds=PATIENCE) == "success"
    tasks = live.client.tasks(dag, run_id)
    assert tasks["match[0]"]["end_date"] == done["end_date"]  # not done again
    assert [tasks[f"publish[{n}]"]["rendered_map_index"] for n in range(3)] == list(DATES)
    assert {tasks[f"publish[{n}]"]["state"] for n in range(3)} == {"success"}
    newest = [row for row in rows(live.lake, "runs") if str(row["run_id"]).startswith(run_id)]
    assert {str(row["match_date"]) for row in newest if row["outcome"] == "published"} == set(DATES)
    assert published(live.lake) == reference(live.lake) == before


def test_new_profiles_over_history_stopped_and_gone_on_with(live: Live) -> None:
    live.declare([*PROFILES, LATER])
    assert live.run("refresh_profiles")[1] == "success"
    dag = "backfill_profiles"
    run_id = live.client.trigger(dag, {**SPAN, "dry_run": False})
    live.wait_for_task(dag, run_id, "backfill[0]", "success")
    live.wait_for_task(dag, run_id, "backfill[1]", "running", "success")
    live.client.fail_run(dag, run_id)
    live.client.wait(dag, run_id, seconds=PATIENCE)
    first = live.client.tasks(dag, run_id)["backfill[0]"]
    assert first["rendered_map_index"] == DATES[0]
    live.client.clear(dag, run_id)
    assert live.client.wait(dag, run_id, seconds=PATIENCE) == "success"
    tasks = live.client.tasks(dag, run_id)
    assert tasks["backfill[0]"]["end_date"] == first["end_date"]
    assert [tasks[f"backfill[{n}]"]["state"] for n in range(3)] == ["success"] * 3
    assert published(live.lake) == reference(live.lake)
    assert "later-1" in {profile for _, profile in published(live.lake)}
