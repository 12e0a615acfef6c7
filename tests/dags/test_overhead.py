"""What Airflow adds: a run of the match DAG over fifty new documents, against the same jobs in one open session."""

import datetime as dt
import time
from pathlib import Path

import pytest

from dags.live import PROFILES, live_airflow
from jobs.slow import nightly
from winnow.cli.scheduled import run_command
from winnow.tables.session import open_session

pytestmark = [pytest.mark.airflow, nightly]

WARM, MEASURED, BESIDE = "2026-11-02", "2026-11-03", "2026-11-04"
MAX_MORE = 30.0  # seconds, on a quiet machine


def test_fifty_documents_cost_little_more_than_their_jobs(tmp_path: Path) -> None:
    with live_airflow(tmp_path) as live:
        live.declare(PROFILES)
        assert live.run("refresh_profiles")[1] == "success"
        for number, date in enumerate((WARM, MEASURED, BESIDE)):
            live.land(date, seed=number, count=17)
        live.client.pause("match_documents")
        for date in (WARM, MEASURED, BESIDE):
            assert live.run("ingest_documents", {"date": date})[1] == "success"
        live.client.unpause("match_documents")
        for date in (WARM, MEASURED):
            run_id, state = live.run("match_documents", {"date": date, "pending": False})
            assert state == "success"
        tasks = live.client.tasks("match_documents", run_id)
        start = dt.datetime.fromisoformat(live.client.run("match_documents", run_id)["queued_at"])
        end = dt.datetime.fromisoformat(tasks["publish[0]"]["end_date"])
        in_airflow = (end - start).total_seconds()
        jobs = jobs_in_one_session(live.airflow.connect_address(), live.lake.location)
    print(f"in Airflow {in_airflow:.1f} s, the jobs alone {jobs:.1f} s, more: {in_airflow - jobs:.1f} s")
    assert in_airflow - jobs <= MAX_MORE


def jobs_in_one_session(server: str, lake: str) -> float:
    """The seconds of the same jobs, one after the other, by one client that has done one date before."""
    open_session(master=server)
    took = 0.0
    for date in (WARM, BESIDE):  # the first one finds nothing to do and opens what is opened once
        start = time.monotonic()
        for job in ("encode-documents", "encode-profiles", "build-index", "join-paths", "match-documents"):
            list(run_command([job, f"--date={date}", f"--lake={lake}", f"--master={server}"]))
        for job in (["audit", "--unpublished"], ["publish-matches", "--audited", "--unpublished"]):
            list(run_command([*job, f"--date={date}", f"--lake={lake}", f"--master={server}"]))
        took = time.monotonic() - start
    return took
