"""The DAGs on a real scheduler: one Airflow for the module, its tests in the order of a working week.

Each looks at the tables, not only at the colour of the runs. What Airflow does is asked by its REST API and its command
line, as an operator would.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import deltalake
import pytest

from checksums import by_delta_rs
from dags.live import PATIENCE, PROFILES, Live, live_airflow
from jobs.lakes import published, reference, rows

pytestmark = pytest.mark.airflow

PAST = ("2026-11-02", "2026-11-03", "2026-11-04")
NEXT, LAST = "2026-11-05", "2026-11-06"
LATER = [{"profile_id": "later-1", "xpath": "//caption"}, {"profile_id": "later-2", "xpath": "/trade/leg[@qty > 10]"}]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    late = {"WINNOW_DEADLINE_MINUTES": "0.05"}  # whatever takes more than three seconds is late
    with live_airflow(tmp_path_factory.mktemp("scheduler"), **late) as found:
        found.client.pause("match_documents")
        found.declare(PROFILES)
        for number, date in enumerate((*PAST, NEXT, LAST)):
            found.land(date, seed=number)
        yield found


def test_a_run_without_a_date_is_refused(live: Live) -> None:
    refused = (
        ("ingest_documents", "date", "which date?", "ingest_documents"),
        ("backfill_profiles", "dates", "which dates?", "backfill"),
    )
    asked = [live.client.trigger(dag) for dag, *_ in refused]
    for run_id, (dag, first, words, after) in zip(asked, refused, strict=True):
        assert live.client.wait(dag, run_id, seconds=PATIENCE) == "failed"
        tasks = live.client.tasks(dag, run_id)
        assert tasks[first]["state"] == "failed"
        assert tasks[first]["try_number"] == 1
        assert tasks[after]["state"] == "upstream_failed"
        assert words in live.client.log(dag, run_id, first)
    assert not live.lake.folder.exists()


def test_the_profiles_of_the_file_are_taken(live: Live) -> None:
    _, state = live.run("refresh_profiles")
    assert state == "success"
    assert {row["profile_id"] for row in rows(live.lake, "profiles")} == {row["profile_id"] for row in PROFILES}
    assert rows(live.lake, "branches")


def test_airflow_backfill_over_three_past_dates(live: Live) -> None:
    """The consumer is paused meanwhile: it gets none of the three events."""
    dates = ["--from-date", PAST[0], "--to-date", PAST[-1]]
    live.airflow.airflow("backfill", "create", "--dag-id", "ingest_documents", *dates)
    for date in PAST:
        assert live.state_of("ingest_documents", date) == "success"
    assert live.documents_by_date() == dict.fromkeys(PAST, 15)
    assert [row["reason"] for row in rows(live.lake, "quarantine")] == ["malformed"] * 3
    events = live.client.events("winnow_documents")
    assert sorted((event["partition_key"], event["extra"]["stored"]) for event in events) == [(d, 15) for d in PAST]
    for run in live.client.runs("ingest_documents"):
        weight = live.client.tasks("ingest_documents", run["dag_run_id"])["ingest_documents"]["priority_weight"]
        assert weight == (1 if run["run_type"] == "backfill" else 10)  # the day goes first
    assert live.client.runs("match_documents") == []
    assert not (live.lake.folder / "matches").exists()


def test_the_next_event_wakes_the_consumer_and_it_catches_up(live: Live) -> None:
    live.client.unpause("match_documents")
    _, state = live.run("ingest_documents", {"date": NEXT})
    assert state == "success"
    assert live.state_of("match_documents", NEXT) == "success"
    assert published(live.lake) == reference(live.lake)
    assert {str(row["match_date"]) for row in rows(live.lake, "matches")} == {*PAST, NEXT}
    done = [row for row in rows(live.lake, "runs") if row["outcome"] == "published"]
    assert {str(row["match_date"]): row["documents"] for row in done} == live.documents_by_date()
    (run,) = live.client.runs("match_documents")
    assert run["run_type"] == "asset_triggered"
    page = live.page_of(run["dag_run_id"], "report", "Run report")
    assert "passed" in page
    assert f"{len(published(live.lake)):,}" not in page  # of all dates; a page is about one
    docs = live.page_of(run["dag_run_id"], "audit[0]", "Data Docs")
    assert "Great Expectations" in docs or "Expectations" in docs


def test_a_run_with_nothing_to_do_ends_at_once_and_says_so(live: Live) -> None:
    run_id, state = live.run("match_documents", {"date": NEXT})
    assert state == "success"
    tasks = live.client.tasks("match_documents", run_id)
    assert tasks.pop("dates")["state"] == "success"
    assert {task["state"] for task in tasks.values()} == {"skipped"}
    assert "nothing is to be done" in live.client.xcom("match_documents", run_id, "dates", "said")
    assert "nothing is to be done" in live.client.log("match_documents", run_id, "dates")


def test_somebody_is_told_of_a_late_run(live: Live) -> None:
    run = next(run for run in live.client.runs("match_documents") if run["partition_key"] == NEXT)

    def look() -> tuple[bool, str]:
        told = [event for event in live.events() if event["what"] == "late"]
        return any(event["run"] == run["dag_run_id"] and event["date"] == NEXT for event in told), str(len(told))

    live.client.wait_for(look, "word of a late run", seconds=PATIENCE)


def test_lineage_names_versions_and_columns(live: Live) -> None:
    done = [event for event in live.lineage() if event["eventType"] == "COMPLETE"]
    published_by = [event for event in done if event["job"]["name"] == "match_documents.publish"]
    written = {row["name"]: row["facets"] for event in published_by for row in event["outputs"]}
    matches = written[live.place("matches")]
    assert int(matches["version"]["datasetVersion"]) == live.version("matches")
    assert {"document_id", "profile_id", "witness"} <= {field["name"] for field in matches["schema"]["fields"]}
    read = {row["name"] for event in published_by for row in event["inputs"]}
    assert {live.place("matches_staged"), live.place("quality_results")} <= read
    assert {date for event in published_by for date in event["run"]["facets"]["winnow"]["dates"]} == {*PAST, NEXT}


def test_a_profile_backfill_with_its_dry_run(live: Live) -> None:
    live.declare([*PROFILES, *LATER])
    assert live.run("refresh_profiles")[1] == "success"
    before = by_delta_rs(live.place("matches"))
    range_ = {"from": PAST[0], "to": NEXT, "profiles": "later-*"}
    run_id, state = live.run("backfill_profiles", range_)
    assert state == "success"
    found = {row["job"]: row["counts"] for row in live.client.xcom("backfill_profiles", run_id, "estimate")}
    assert found == {date: {"documents": 15, "profiles": 2, "pairs": 30} for date in (*PAST, NEXT)}
    tasks = live.client.tasks("backfill_profiles", run_id)
    assert {tasks[name]["state"] for name in tasks if name.startswith(("backfill", "report"))} == {"skipped"}
    assert by_delta_rs(live.place("matches")) == before

    run_id, state = live.run("backfill_profiles", {**range_, "dry_run": False})
    assert state == "success"
    assert published(live.lake) == reference(live.lake)
    assert {row["profile_id"] for row in LATER} <= {profile for _, profile in published(live.lake)}


def test_a_stopped_task_stops_its_work_on_the_server(live: Live) -> None:
    """The task is failed by hand while its job is under way; cleared, it does its work once."""
    live.client.pause("match_documents")
    run_id = live.client.trigger("ingest_documents", {"date": LAST})

    def is_working() -> tuple[bool, str]:
        state = str(live.client.tasks("ingest_documents", run_id)["ingest_documents"]["state"])
        return state == "running", state

    live.client.wait_for(is_working, "a job under way", seconds=PATIENCE)
    live.client.fail_task("ingest_documents", run_id, "ingest_documents")
    live.client.clear("ingest_documents", run_id)
    time.sleep(2)  # the run is over until the scheduler sees it again
    assert live.client.wait("ingest_documents", run_id, seconds=PATIENCE) == "success"
    assert live.documents_by_date()[LAST] == 15


def test_a_date_without_input_is_skipped_with_a_sentence(live: Live) -> None:
    run_id, state = live.run("ingest_documents", {"date": "2026-11-01"})
    assert state == "success"
    assert live.client.tasks("ingest_documents", run_id)["ingest_documents"]["state"] == "skipped"
    assert "nothing to read at" in live.client.log("ingest_documents", run_id, "ingest_documents")


def test_a_failed_gate_leaves_matches_untouched(live: Live) -> None:
    """Joined paths are lost; then the table is mended, and the reconciliation does what is open."""
    joined = deltalake.DeltaTable(live.place("path_branches"))
    whole = joined.version()
    joined.delete("path_id % 2 = 0")
    before, version = by_delta_rs(live.place("matches")), live.version("matches")
    live.client.unpause("match_documents")
    run_id, state = live.run("match_documents", {"date": LAST})
    assert state == "failed"
    tasks = live.client.tasks("match_documents", run_id)
    states = {name: task["state"] for name, task in tasks.items()}
    assert {name for name, state in states.items() if state != "success"} == {"audit[0]", "publish[0]"}
    assert (states["audit[0]"], states["publish[0]"]) == ("failed", "upstream_failed")
    assert tasks["audit[0]"]["try_number"] == 1  # bad data is not tried again
    log = live.client.log("match_documents", run_id, "audit[0]")
    assert "gate_failed" in log
    assert "joins_right" in log
    page = live.page_of(run_id, "report", "Run report")
    assert "the quality gate refused it" in page
    assert "joins_right" in page
    assert "Expectations" in live.page_of(run_id, "audit[0]", "Data Docs")
    told = [event for event in live.events() if event.get("task") == "audit"]
    assert [(event["what"], event["run"]) for event in told] == [("failed", run_id)]
    assert "joins_right" in told[0]["error"]
    assert (by_delta_rs(live.place("matches")), live.version("matches")) == (before, version)
    assert any(not row["success"] for row in rows(live.lake, "quality_results"))

    deltalake.DeltaTable(live.place("path_branches")).restore(whole)
    assert live.run("reconcile")[1] == "success"
    assert published(live.lake) == reference(live.lake)
    assert {str(row["match_date"]) for row in rows(live.lake, "matches")} == {*PAST, NEXT, LAST}


LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}  # as /proc/net shows it


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks for sockets in /proc")
def test_nothing_listens_beyond_loopback_and_secrets_are_private(live: Live) -> None:
    own = {
        link.readlink().name
        for pid in live.airflow.processes()
        for link in Path(f"/proc/{pid}/fd").glob("*")
        if link.is_symlink()
    }
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    listening = {words[1].split(":")[0] for words in lines if words[3] == "0A" and f"socket:[{words[9]}]" in own}
    assert listening
    assert listening <= LOOPBACK
    assert all(file.stat().st_mode & 0o077 == 0 for file in (live.airflow.home / "secrets").iterdir())
    # Jobs inherit the environment, and read what strangers send.
    assert not [name for name in live.airflow.environment() if name.endswith(("SECRET", "SECRET_KEY", "FERNET_KEY"))]
