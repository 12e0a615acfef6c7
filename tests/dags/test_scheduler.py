"""The DAGs on a real scheduler: one Airflow for the module, its tests in the order of a working week.

Each looks at the tables, not only at the colour of the runs. What Airflow does is asked by its REST API and its command
line, as an operator would.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import deltalake
import pytest

from checksums import by_delta_rs
from conftest import ROOT
from jobs.lakes import published, reference, rows
from winnow.generate.sample import make, make_profiles
from winnow.tables import Lake

sys.path.insert(0, str(ROOT / "infra" / "airflow"))
from client import Client
from supervisor import Airflow, free_port

pytestmark = pytest.mark.airflow

PAST = ("2026-11-02", "2026-11-03", "2026-11-04")
NEXT, LAST = "2026-11-05", "2026-11-06"
DAGS = {
    "ingest_documents",
    "match_documents",
    "refresh_profiles",
    "backfill_profiles",
    "maintain_tables",
    "reconcile",
}
PROFILES = [*make_profiles(40, seed=1), {"profile_id": "captions", "xpath": "//caption"}]
LATER = [{"profile_id": "later-1", "xpath": "//caption"}, {"profile_id": "later-2", "xpath": "/trade/leg[@qty > 10]"}]
PATIENCE = 900.0  # seconds, for a machine that does other things too


class Live(NamedTuple):
    airflow: Airflow
    client: Client
    lake: Lake
    landing: Path

    def run(self, dag: str, conf: dict[str, Any] | None = None) -> tuple[str, str]:
        """A manual run to its end: its id and its state."""
        run_id = self.client.trigger(dag, conf)
        return run_id, self.client.wait(dag, run_id, seconds=PATIENCE)

    def page_of(self, run_id: str, task: str, link: str) -> str:
        """What the browser shows behind a link of a task of `match_documents`."""
        address = self.client.links("match_documents", run_id, task)[link]
        assert address is not None
        assert address.startswith(self.airflow.url())
        return self.client.page(address)

    def state_of(self, dag: str, date: str) -> str:
        """The state in which the asset-triggered run of a date ends."""

        def look() -> tuple[str | None, str]:
            states = {run["partition_key"]: run["state"] for run in self.client.runs(dag)}
            state = states.get(date)
            return (state if state in {"success", "failed"} else None), str(states)

        return str(self.client.wait_for(look, f"{dag} of {date}", seconds=PATIENCE))

    def declare(self, profiles: list[dict[str, object]]) -> None:
        folder = self.landing / "profiles"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in profiles))

    def land(self, date: str, seed: int) -> None:
        folder = self.landing / date
        folder.mkdir(parents=True)
        for kind in ("news", "invoice", "trade"):
            for name, text in make(kind, 5, seed=seed):
                (folder / name).write_text(text)
        (folder / "broken.xml").write_text("<a>")

    def documents_by_date(self) -> dict[str, int]:
        return dict(Counter(str(row["ingest_date"]) for row in rows(self.lake, "documents")))

    def place(self, table: str) -> str:
        return f"{self.lake.location}/{table}"

    def version(self, table: str) -> int:
        return int(deltalake.DeltaTable(self.place(table)).version())


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("scheduler")
    lake, landing = folder / "lake", folder / "landing"
    settings = {
        "WINNOW_LAKE": str(lake),
        "WINNOW_LANDING": str(landing),
        "WINNOW_START": "2100-01-01",  # no run but those that a test asks for
        "WINNOW_RETRY_SECONDS": "2",
        "WINNOW_NOTIFIER": "winnow.airflow.notifications.FileNotifier",
        "WINNOW_NOTIFIER_OPTIONS": json.dumps({"file": str(folder / "events.jsonl")}),
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "file", "log_file_path": str(folder / "lineage.jsonl"), "append": True}
        ),
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "winnow-tests",
    }
    airflow = Airflow(folder / "airflow", port=free_port(), settings=settings, tied=True)
    airflow.up()
    try:
        client = airflow.client()
        client.wait_for_dags(DAGS)
        client.unpause(*DAGS - {"match_documents", "maintain_tables"})
        found = Live(airflow, client, Lake(str(lake)), landing)
        found.declare(PROFILES)
        for number, date in enumerate((*PAST, NEXT, LAST)):
            found.land(date, seed=number)
        yield found
    finally:
        airflow.down()
        assert airflow.processes() == set()


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
