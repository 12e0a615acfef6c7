"""One landing folder through two Airflow environments, one with Spark Connect, one with spark-submit: equal tables."""

from pathlib import Path

import pytest

from dags.live import PROFILES, live_airflow
from jobs.lakes import answers, published, reference, rows
from jobs.slow import nightly
from winnow.tables import Lake

pytestmark = [pytest.mark.airflow, nightly]

DATES = ("2026-11-02", "2026-11-03")
SAME = ("documents", "document_sources", "quarantine", "profiles", "paths", "patterns", "branches", "path_branches")


def test_both_ways_make_the_same_tables(tmp_path: Path) -> None:
    lakes = {way: through(tmp_path, way) for way in ("connect", "submit")}
    connect, submit = lakes["connect"], lakes["submit"]
    assert published(connect) == published(submit) == reference(connect)
    assert answers(connect) == answers(submit)
    for table in SAME:
        assert keys(connect, table) == keys(submit, table), table


def through(folder: Path, way: str) -> Lake:
    with live_airflow(folder, lake=f"lake-{way}", home=f"airflow-{way}", WINNOW_SPARK=way) as live:
        live.declare(PROFILES)
        assert live.run("refresh_profiles")[1] == "success"
        for number, date in enumerate(DATES):
            live.land(date, seed=number)
            assert live.run("ingest_documents", {"date": date})[1] == "success"
            assert live.state_of("match_documents", date) == "success"
        run_id, state = live.run("ingest_documents", {"date": "2026-11-01"})  # a date without a folder
        assert state == "success"
        assert live.client.tasks("ingest_documents", run_id)["ingest_documents"]["state"] == "skipped"
        done = [event for event in live.lineage() if event["job"]["name"] == "match_documents.publish"]
        assert {live.place("matches")} <= {row["name"] for event in done for row in event["outputs"]}
        return live.lake


def keys(lake: Lake, table: str) -> list[str]:
    from winnow.tables import contract

    return sorted(str([row[name] for name in contract(table).key]) for row in rows(lake, table))
