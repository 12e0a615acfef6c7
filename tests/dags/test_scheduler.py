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
from urllib.parse import unquote, urlparse

import deltalake
import pytest

from checksums import by_delta_rs
from conftest import ROOT
from pipeline.lakes import published, reference, rows
from winnow.generate.sample import make, make_profiles
from winnow.lake.store import commit_note, read_rows, replace_partition, write_rows

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
    lake: str
    landing: Path

    def run(self, dag: str, conf: dict[str, Any] | None = None) -> tuple[str, str]:
        """A manual run to its end: its id and its state."""
        run_id = self.client.trigger(dag, conf)
        return run_id, self.client.wait(dag, run_id, seconds=PATIENCE)

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

    def version(self, table: str) -> int:
        return int(deltalake.DeltaTable(f"{self.lake}/{table}").version())


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("scheduler")
    lake, landing = folder / "lake", folder / "landing"
    settings = {
        "WINNOW_LAKE": str(lake),
        "WINNOW_LANDING": str(landing),
        "WINNOW_START": "2100-01-01",  # no run but those that a test asks for
    }
    airflow = Airflow(folder / "airflow", port=free_port(), settings=settings)
    airflow.up()
    try:
        client = airflow.client()
        client.wait_for_dags(DAGS)
        client.unpause(*DAGS - {"match_documents", "maintain_tables"})
        found = Live(airflow, client, str(lake), landing)
        found.declare(PROFILES)
        for number, date in enumerate((*PAST, NEXT, LAST)):
            found.land(date, seed=number)
        yield found
    finally:
        airflow.down()
        assert airflow.processes() == set()


def test_a_run_without_a_date_is_refused(live: Live) -> None:
    asked = [live.client.trigger(dag) for dag in ("ingest_documents", "backfill_profiles")]
    for dag, run_id, words in zip(
        ("ingest_documents", "backfill_profiles"), asked, ("which date?", "which dates?"), strict=True
    ):
        assert live.client.wait(dag, run_id, seconds=PATIENCE) == "failed"
        tasks = live.client.tasks(dag, run_id)
        assert tasks["interval"]["state"] == "failed"
        assert tasks["interval"]["try_number"] == 1
        assert {task["state"] for name, task in tasks.items() if name != "interval"} == {"upstream_failed"}
        assert words in live.client.log(dag, run_id, "interval")
    assert not Path(live.lake).exists()


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
    assert not Path(live.lake, "matches").exists()


def test_the_next_event_wakes_the_consumer_and_it_catches_up(live: Live) -> None:
    live.client.unpause("match_documents")
    _, state = live.run("ingest_documents", {"date": NEXT})
    assert state == "success"
    assert live.state_of("match_documents", NEXT) == "success"
    assert published(live.lake) == reference(live.lake)
    assert {str(row["match_date"]) for row in rows(live.lake, "matches")} == {*PAST, NEXT}
    assert {str(row["match_date"]): row["documents"] for row in rows(live.lake, "ledger")} == live.documents_by_date()
    (run,) = live.client.runs("match_documents")
    assert run["run_type"] == "asset_triggered"
    page = live.client.links("match_documents", run["dag_run_id"], "report")["Run report"]
    assert page is not None
    assert "<html" in Path(unquote(urlparse(page).path)).read_text()


def test_a_profile_backfill_with_its_dry_run(live: Live) -> None:
    live.declare([*PROFILES, *LATER])
    assert live.run("refresh_profiles")[1] == "success"
    before = by_delta_rs(f"{live.lake}/matches")
    range_ = {"from": PAST[0], "to": NEXT, "profiles": "later-*"}
    run_id, state = live.run("backfill_profiles", range_)
    assert state == "success"
    table = live.client.xcom("backfill_profiles", run_id, "estimate").splitlines()
    found = {line.split()[0]: [int(number) for number in line.split()[1:4]] for line in table if "2026-" in line}
    assert found == {date: [15, 2, 30] for date in (*PAST, NEXT)}  # documents, profiles, pairs
    assert live.client.tasks("backfill_profiles", run_id)["backfill"]["state"] == "skipped"
    assert by_delta_rs(f"{live.lake}/matches") == before

    run_id, state = live.run("backfill_profiles", {**range_, "dry_run": False})
    assert state == "success"
    assert published(live.lake) == reference(live.lake)
    assert {row["profile_id"] for row in LATER} <= {profile for _, profile in published(live.lake)}


def processes_of(run_id: str) -> set[int]:
    """Those of a run's job: the JVM, the driver, Python's workers. They carry the run's id."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if f"WINNOW_RUN_ID={run_id}".encode() in environment.split(b"\0"):
                found.add(int(folder.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")
def test_a_stopped_task_leaves_no_process(live: Live) -> None:
    live.client.pause("match_documents")
    run_id = live.client.trigger("ingest_documents", {"date": LAST})

    def drivers() -> tuple[bool, str]:
        commands = []
        for pid in processes_of(run_id):
            try:
                commands.append(Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode())
            except OSError:
                continue
        return {Path(command).name for command in commands} >= {"java", "python"}, str(commands)

    live.client.wait_for(drivers, "a JVM and a driver", seconds=PATIENCE)
    live.client.fail_task("ingest_documents", run_id, "ingest_documents")
    live.client.wait_for(
        lambda: (not processes_of(run_id), str(processes_of(run_id))), "the end of its processes", seconds=60
    )
    live.client.clear("ingest_documents", run_id)
    time.sleep(2)  # the run is over until the scheduler sees it again
    assert live.client.wait("ingest_documents", run_id, seconds=PATIENCE) == "success"
    assert live.documents_by_date()[LAST] == 15


def test_a_failed_gate_leaves_matches_untouched(live: Live) -> None:
    """A branch is lost from the joined paths; then the table is mended, and the reconciliation does what is open."""
    joined, note = read_rows(live.lake, "path_branches"), commit_note(live.lake, "path_branches")
    kept = joined.slice(0, joined.num_rows // 2)
    replace_partition(live.lake, "path_branches", write_rows(live.lake, "path_branches", kept), {}, note)
    before, version = by_delta_rs(f"{live.lake}/matches"), live.version("matches")
    live.client.unpause("match_documents")
    run_id, state = live.run("match_documents", {"date": LAST})
    assert state == "failed"
    tasks = live.client.tasks("match_documents", run_id)
    assert {name: task["state"] for name, task in tasks.items()} == {
        "interval": "success",
        "prepare": "success",
        "match_and_audit": "failed",
        "publish": "upstream_failed",
        "report": "upstream_failed",
    }
    assert tasks["match_and_audit"]["try_number"] == 1  # bad data is not tried again
    assert "gate_failed" in live.client.log("match_documents", run_id, "match_and_audit")
    assert (by_delta_rs(f"{live.lake}/matches"), live.version("matches")) == (before, version)
    failed = {row["check"] for row in rows(live.lake, "quality_results") if not row["success"]}
    assert "joins_right" in failed

    replace_partition(live.lake, "path_branches", write_rows(live.lake, "path_branches", joined), {}, note)
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
