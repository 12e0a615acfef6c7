"""`make run`: the sample through the DAGs, for two dates, and then new profiles over both.

Starts an Airflow of its own on loopback and stops it in the end, also when something fails or somebody interrupts.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from client import Client, RestError
from supervisor import ROOT, Airflow, SupervisorError, free_port, home_of

SAMPLE = ROOT / ".winnow" / "sample"
FIRST, SECOND = "2026-11-15", "2026-11-16"
DAGS = ("ingest_documents", "match_documents", "refresh_profiles", "backfill_profiles")
NEW_PROFILES = 100  # of the sample's 600: they come later
PATIENCE = 1800.0
Say = Callable[[str], None]
TOTALS = """
    SELECT match_date, count(*) AS matches, count(DISTINCT document_id) AS documents,
        count(DISTINCT profile_id) AS profiles, count(DISTINCT destination) AS destinations
    FROM matches GROUP BY ALL ORDER BY match_date
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--lake", type=Path, default=ROOT / ".winnow" / "sample" / "lake", help="made where there is none"
    )
    parser.add_argument("--documents", type=int, default=3000)
    args = parser.parse_args()
    lake = args.lake.absolute()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    settings = {
        "WINNOW_LAKE": str(lake),
        "WINNOW_LANDING": str(SAMPLE / "landing"),  # also for another lake: nobody else's files are touched
        "WINNOW_START": "2100-01-01",  # the schedules wait: only what is asked for here runs
    }
    airflow = Airflow(home_of(str(lake)), port=free_port(), settings=settings, tied=True)
    start = time.monotonic()

    def say(words: str) -> None:
        print(f"[{time.monotonic() - start:4.0f} s] {words}", flush=True)

    try:
        if airflow.is_live():
            raise SupervisorError("an Airflow is live here already; `make down` stops it")
        profiles = land_sample(args.documents, say)
        say("starting Airflow on loopback")
        airflow.up()
        try:
            say(f"live at {airflow.url()}")
            run_dags(airflow, SAMPLE / "landing", profiles, say)
        finally:
            _stop(airflow, say)
    except (SupervisorError, RestError, TimeoutError) as error:
        print(f"run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("run: interrupted; everything it started is stopped", file=sys.stderr)
        return 130
    show(lake)
    given = f"LAKE={os.path.relpath(lake)}"
    print(f"done in {time.monotonic() - start:.0f} s. What to look at, and how:")
    print(f"  reports  {(lake / '_reports' / 'index.html').as_uri()}  (needs no server)")
    print(f"  Airflow  make up {given}   the runs of above: graph, assets, logs, links to the reports")
    print(f'  tables   make query {given} ARGS="--date {SECOND} --destination queue/desk-07"')
    print("  again    make run, which changes nothing that is right already; make run LAKE=… for another lake")
    return 0


def land_sample(documents: int, say: Say) -> list[str]:
    """One date gets archives and files, the other a container of records. Returns the lines of the profile file."""
    say(f"making the sample below {SAMPLE}")
    sample, landing = SAMPLE / "generated", SAMPLE / "landing"
    for old in (sample, landing / FIRST, landing / SECOND):
        shutil.rmtree(old, ignore_errors=True)
    _winnow("generate", "sample", str(sample), f"--documents={documents}", quiet=True)
    shutil.copytree(sample / "documents", landing / FIRST)
    (landing / SECOND).mkdir()
    shutil.copy(sample / "trades.xml.gz", landing / SECOND)
    return (sample / "profiles.jsonl").read_text().splitlines(keepends=True)


def run_dags(airflow: Airflow, landing: Path, profiles: list[str], say: Say) -> None:
    client = airflow.client()
    client.wait_for_dags(set(DAGS))
    client.unpause(*DAGS)
    try:
        _declare(landing, profiles[:-NEW_PROFILES])
        _run(client, "refresh_profiles", {"retire_missing": True}, say)
        known = {run["dag_run_id"] for run in client.runs("match_documents")}
        say(f"airflow backfill create --dag-id ingest_documents --from-date {FIRST} --to-date {FIRST}")
        _backfill(airflow, FIRST)
        # A manual run, since it needs another param, and a DAG has but one backfill at a time.
        _run(client, "ingest_documents", {"date": SECOND, "record_tag": "trade"}, say)
        _wait_for_dates(client, "match_documents", known, say)
        say(f"{NEW_PROFILES} new profiles; the documents that are there already are asked them by a backfill")
        _declare(landing, profiles)
        _run(client, "refresh_profiles", {}, say)
        range_ = {"from": FIRST, "to": SECOND}
        estimate = _run(client, "backfill_profiles", range_, say)
        say("the dry run says:")
        for row in client.xcom("backfill_profiles", estimate, "estimate"):
            print("  ", row["job"], ", ".join(f"{count:,} {name}" for name, count in row["counts"].items()))
        _run(client, "backfill_profiles", {**range_, "dry_run": False}, say)
    finally:
        for dag in DAGS:  # the next Airflow here starts with its schedules asleep
            client.pause(dag)


def _declare(landing: Path, profiles: list[str]) -> None:
    (landing / "profiles").mkdir(parents=True, exist_ok=True)
    (landing / "profiles" / "profiles.jsonl").write_text("".join(profiles))


def _run(client: Client, dag: str, conf: dict[str, Any], say: Say) -> str:
    run_id = client.trigger(dag, conf)
    if client.wait(dag, run_id, seconds=PATIENCE, say=say) != "success":
        raise SupervisorError(_failure(client, dag, run_id))
    return run_id


def _backfill(airflow: Airflow, date: str) -> None:
    dates = ("--from-date", date, "--to-date", date)
    airflow.airflow("backfill", "create", "--dag-id", "ingest_documents", *dates, "--reprocess-behavior", "completed")


def _wait_for_dates(client: Client, dag: str, known: set[str], say: Say) -> None:
    """Waits for the runs of both dates that were not known before. One that comes late may find all done."""

    def look() -> tuple[bool, str]:
        runs = {r["partition_key"]: r for r in client.runs(dag) if r["dag_run_id"] not in known and r["partition_key"]}
        for run in runs.values():
            if run["state"] == "failed":
                raise SupervisorError(_failure(client, dag, run["dag_run_id"]))
        states = {date: runs[date]["state"] if date in runs else "to come" for date in (FIRST, SECOND)}
        words = f"{dag}: " + ", ".join(f"{date} {state}" for date, state in states.items())
        return set(states.values()) == {"success"}, words

    client.wait_for(look, dag, seconds=PATIENCE, say=say)


def _failure(client: Client, dag: str, run_id: str) -> str:
    failed = [name for name, task in client.tasks(dag, run_id).items() if task["state"] == "failed"]
    tail = "\n".join(client.log(dag, run_id, failed[0]).splitlines()[-12:]) if failed else ""
    return f"{dag} {run_id} failed in {', '.join(failed) or 'no task'}\n{tail}"


def show(lake: Path) -> None:
    print()
    _winnow("status", f"--lake={lake}")
    print()
    _winnow("query", f"--lake={lake}", f"--sql={TOTALS}")
    print()
    _winnow("query", f"--lake={lake}", f"--date={SECOND}", "--limit=5")
    print()


def _winnow(*arguments: str, quiet: bool = False) -> None:
    command = [str(ROOT / ".venv" / "bin" / "winnow"), *arguments]
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL if quiet else None)
    if done.returncode:
        raise SupervisorError(f"winnow {arguments[0]} failed ({done.returncode})")


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _stop(airflow: Airflow, say: Say) -> None:
    """Also when somebody is in a hurry."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    say("stopping Airflow")
    airflow.down()


if __name__ == "__main__":
    sys.exit(main())
