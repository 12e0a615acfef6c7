"""Processes killed at work: the scheduler in the middle of each task, the Connect server in the middle of each job.

Each task has a date of its own, with new documents and a new profile, so that it has something to do. What is killed is
started again by the keeper; the run then ends by itself, and the tables are what they would have been.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator

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
NO_JOB = {"report"}  # reads the lake without Spark
SETTINGS = {
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "30",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
}


@pytest.fixture(scope="module", params=["scheduler", "spark-connect"])
def victim(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def live(victim: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live_airflow(tmp_path_factory.mktemp(victim), **SETTINGS) as found:
        yield found


@pytest.mark.parametrize("task", TASKS)
def test_the_run_ends_by_itself_and_the_tables_are_right(live: Live, victim: str, task: str) -> None:
    if victim == "spark-connect" and task in NO_JOB:
        pytest.skip("this task asks no server")
    number = list(TASKS).index(task)
    date = f"2026-11-{number + 1:02d}"
    live.declare([*PROFILES, *({"profile_id": f"new-{n}", "xpath": f"//item[{n + 1}]"} for n in range(number + 1))])
    assert live.run("refresh_profiles")[1] == "success"
    live.land(date, seed=number)
    (live.landing / date / "new.xml").write_text(f"<new-{number}><item/><item/></new-{number}>")
    ingest = live.client.trigger("ingest_documents", {"date": date})
    dag, run_id = ("ingest_documents", ingest) if task == "ingest_documents" else ("match_documents", woken(live, date))
    live.wait_for_task(dag, run_id, task, "running", "success")
    time.sleep(TASKS[task])
    before = live.client.tasks(dag, run_id)[task]["state"]
    kill(live, victim)
    assert live.client.wait(dag, run_id, seconds=PATIENCE) == "success"
    assert live.client.wait("match_documents", woken(live, date), seconds=PATIENCE) == "success"
    tries = live.client.tasks(dag, run_id)[task]["try_number"]
    print(f"{victim} killed in {task} ({before}): {tries} tries")
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
