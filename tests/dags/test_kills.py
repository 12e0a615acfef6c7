"""Processes killed at work: the scheduler in the middle of each task, the Connect server in the middle of each job.

One run has them all: what is killed is started again by the keeper, the task tries again, and the next one is killed.
The run ends by itself, and the tables are what they would have been.
"""

import os
import signal
import time
from collections import Counter
from pathlib import Path

import deltalake
import pytest

from dags.live import PATIENCE, PROFILES, Live, live_airflow
from jobs.lakes import published, reference, rows
from jobs.slow import nightly
from winnow.tables import contract

pytestmark = [pytest.mark.airflow, nightly]

TASKS = {  # and how long into it, in seconds: most of them take three
    "ingest_documents": 1.5,
    "dates": 1.0,
    "encode_documents": 1.5,
    "encode_profiles": 1.5,
    "build_index": 1.5,
    "join_paths": 1.5,
    "match[0]": 1.5,
    "audit[0]": 4.0,
    "publish[0]": 1.5,
    "report": 0.5,
}
FIRST, SECOND = "2026-11-02", "2026-11-03"
NEW = [{"profile_id": f"new-{number}", "xpath": f"//item[{number}]"} for number in (1, 2, 3)]
SETTINGS = {
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
}


@pytest.mark.parametrize("victim", ["scheduler", "spark-connect"])
def test_killed_in_every_task_the_run_ends_by_itself_and_the_tables_are_right(victim: str, tmp_path: Path) -> None:
    with live_airflow(tmp_path, **SETTINGS) as live:
        live.declare(PROFILES)
        assert live.run("refresh_profiles")[1] == "success"
        live.land(FIRST, seed=1)
        assert live.run("ingest_documents", {"date": FIRST})[1] == "success"
        assert live.client.wait("match_documents", woken(live, FIRST), seconds=PATIENCE) == "success"
        live.declare([*PROFILES, *NEW])
        assert live.run("refresh_profiles")[1] == "success"
        live.land(SECOND, seed=2)
        (live.landing / SECOND / "new.xml").write_text("<new><item/><item/></new>")
        runs = {"ingest_documents": live.client.trigger("ingest_documents", {"date": SECOND})}
        hit = []
        for task, seconds in TASKS.items():
            dag = "ingest_documents" if task == "ingest_documents" else "match_documents"
            if dag not in runs:
                runs[dag] = woken(live, SECOND)
            live.wait_for_task(dag, runs[dag], task, "running", "success")
            time.sleep(seconds)
            hit.append((task, live.client.tasks(dag, runs[dag])[task]["state"]))
            kill(live, victim)
        for dag, run_id in runs.items():
            assert live.client.wait(dag, run_id, seconds=PATIENCE) == "success"
        tries = {name: row["try_number"] for name, row in live.client.tasks("match_documents", run_id).items()}
        print(f"{victim} killed in {hit}; tries: {tries}")
        assert published(live.lake) == reference(live.lake)
        nothing_is_there_twice(live)


def woken(live: Live, date: str) -> str:
    """The run of `match_documents` that the documents of a date have started."""

    def look() -> tuple[str | None, str]:
        runs = {run["partition_key"]: str(run["dag_run_id"]) for run in live.client.runs("match_documents")}
        return runs.get(date), str(sorted(map(str, runs)))

    return str(live.client.wait_for(look, f"match_documents of {date}", seconds=PATIENCE))


def kill(live: Live, victim: str) -> None:
    """Kills it, and waits until another one is there."""
    old = live.airflow.components()[victim]["pid"]
    os.kill(old, signal.SIGKILL)
    live.client.wait_for(
        lambda: (live.airflow.components()[victim]["pid"] != old, "killed"), f"another {victim}", seconds=PATIENCE
    )


def nothing_is_there_twice(live: Live) -> None:
    """No key of any table, and no delivery."""
    for folder in sorted(path.parent for path in live.lake.folder.glob("*/_delta_log")):
        key = contract(folder.name).key
        found = deltalake.DeltaTable(folder).to_pyarrow_table(columns=list(key)).to_pylist() if key else []
        assert len(found) == len({tuple(row.values()) for row in found}), folder.name
    sent: Counter[tuple[object, object]] = Counter()
    for row in rows(live.lake, "deliveries"):
        sent[row["match_date"], row["destination"]] += int(str(row["matches"]))
    matches = (row for row in rows(live.lake, "matches") if row["destination"] is not None)
    assert sent == Counter((row["match_date"], row["destination"]) for row in matches)
