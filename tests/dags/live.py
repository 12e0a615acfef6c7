"""A live Airflow with a lake and a landing folder of its own, for tests that ask it what an operator would."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import deltalake

from conftest import ROOT
from jobs.lakes import rows
from winnow.generate.sample import make, make_profiles
from winnow.tables import Lake

sys.path.insert(0, str(ROOT / "infra" / "airflow"))
from client import Client
from supervisor import Airflow, free_port

DAGS = {
    "ingest_documents",
    "match_documents",
    "refresh_profiles",
    "backfill_profiles",
    "maintain_tables",
    "reconcile",
}
PROFILES = [*make_profiles(40, seed=1), {"profile_id": "captions", "xpath": "//caption"}]
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

    def land(self, date: str, seed: int, count: int = 5) -> None:
        folder = self.landing / date
        folder.mkdir(parents=True, exist_ok=True)
        for kind in ("news", "invoice", "trade"):
            for name, text in make(kind, count, seed=seed):
                (folder / name).write_text(text)
        (folder / "broken.xml").write_text("<a>")

    def documents_by_date(self) -> dict[str, int]:
        return dict(Counter(str(row["ingest_date"]) for row in rows(self.lake, "documents")))

    def place(self, table: str) -> str:
        return f"{self.lake.location}/{table}"

    def version(self, table: str) -> int:
        return int(deltalake.DeltaTable(self.place(table)).version())

    def events(self) -> list[dict[str, Any]]:
        """What the notifier was told."""
        file = self.airflow.home.with_name("events.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def lineage(self) -> list[dict[str, Any]]:
        """OpenLineage's events."""
        file = self.airflow.home.with_name("lineage.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()]

    def wait_for_task(self, dag: str, run_id: str, task: str, *states: str) -> str:
        """Waits until a task is in one of some states."""

        def look() -> tuple[str | None, str]:
            state = str(self.client.tasks(dag, run_id).get(task, {}).get("state"))
            return (state if state in states else None), state

        return str(self.client.wait_for(look, f"{task} {' or '.join(states)}", seconds=PATIENCE))


@contextmanager
def live_airflow(folder: Path, *, lake: str = "lake", home: str = "airflow", **settings: str) -> Iterator[Live]:
    """Yields an Airflow below `folder`; nothing of it is left."""
    place, landing = folder / lake, folder / "landing"
    given = {
        "WINNOW_LAKE": str(place),
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
    airflow = Airflow(folder / home, port=free_port(), settings=given | settings, tied=True)
    airflow.up()
    try:
        client = airflow.client()
        client.wait_for_dags(DAGS)
        client.unpause(*DAGS - {"maintain_tables"})
        yield Live(airflow, client, Lake(str(place)), landing)
    finally:
        airflow.down()
        assert airflow.processes() == set()
