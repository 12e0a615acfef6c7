"""What Compose starts, started here without containers: its commands, environments, health checks and entrypoint.

Names of hosts become loopback, and `/opt/winnow` this checkout. Of its neighbours MinIO is another S3 server, and
Postgres SQLite. Airflow's tasks then are clients of the Connect server, with the connection that Compose gives them.
"""

import base64
import json
import os
import re
import secrets
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.fs as pafs
import pytest

from conftest import ROOT
from jobs.slow import nightly
from spark.servers import free_port, process_of, s3_server
from winnow.generate.sample import make_profiles, write_sample
from winnow.matcher import Matcher
from winnow.tables.jars import folder_of, s3_jars

from .test_manifests import COMPOSE, INFRA, Json, load

pytestmark = [pytest.mark.airflow, pytest.mark.spark, nightly]
DATE = "2026-11-16"


class Deployment:
    """Services of the file by name, as processes of this machine."""

    def __init__(self, folder: Path, s3: str) -> None:
        self.folder = folder
        self.compose: Json = load(COMPOSE)[0][0]
        self._replaced = {
            "http://minio:9000": f"http://{s3}",
            **dict.fromkeys(("spark-master", "spark-connect", "0.0.0.0"), "127.0.0.1"),
            "7077": str(free_port()),
            "15002": str(free_port()),
            "/opt/winnow/infra/spark/cluster": str(folder / "conf"),
            "/opt/winnow": str(ROOT),
            "/opt/airflow": str(folder / "airflow"),
            "/run/secrets": str(folder),
            "/var/tmp/winnow": str(folder / "cache"),
            "postgresql+psycopg2://airflow:${POSTGRES_PASSWORD:?}@postgres/airflow": f"sqlite:///{folder}/airflow.db",
            "s3a://winnow/": "s3a://landing/winnow/",  # the bucket of this server
        }
        self._given = {name: secrets.token_hex(8) for name in re.findall(r"\$\{(\w+):", COMPOSE.read_text())}
        self._given |= {
            "WINNOW_START": "2026-01-01",
            "FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        }
        (folder / "conf").mkdir()
        for file in (INFRA / "spark" / "cluster").iterdir():
            (folder / "conf" / file.name).write_text(self.here(file.read_text()))
        tini = folder / "bin" / "tini"
        tini.parent.mkdir()
        tini.write_text('#!/bin/sh\nwhile [ "$1" = -- ] || [ "$1" = -s ]; do shift; done\nexec "$@"\n')
        tini.chmod(0o755)

    def here(self, text: str) -> str:
        """Returns a text of the file with the places and secrets of this machine."""
        longest_first = sorted(self._replaced, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), lambda found: self._replaced[found[0]], text)
        return re.sub(r"\$\{(\w+):[^}]*\}", lambda found: self._given.get(found[1], found[0]), text)

    def environment(self, name: str) -> dict[str, str]:
        """What a container of the service would have: the image's variables, and the service's own."""
        service = self.compose["services"][name]
        stage = service["image"].removeprefix("winnow-").partition(":")[0]
        own = {key: self.here(str(value)) for key, value in service.get("environment", {}).items()}
        path = {"PATH": f"{self.folder}/bin:{self.image(stage)['PATH']}:{os.environ['PATH']}"}
        return {**self.image(stage), "HOME": str(self.folder), **own, **path}

    def image(self, stage: str) -> dict[str, str]:
        text = (INFRA / "image" / "Dockerfile").read_text().replace("\\\n", "")
        parts = re.split(r"^FROM .* AS (\w+)$", text, flags=re.MULTILINE)
        stages = dict(zip(parts[1::2], parts[2::2], strict=True))
        found = re.findall(r"^ENV (.*)$", stages["base"] + stages[stage], re.MULTILINE)
        pairs = [word.split("=", 1) for line in found for word in line.split()]
        return {name: self.here(value) for name, value in pairs if not name.startswith("NUMBA")}

    def command(self, name: str) -> list[str]:
        words = [self.here(str(word)) for word in self.compose["services"][name]["command"]]
        return [str(INFRA / "image" / "entrypoint.sh"), *words]

    def is_healthy(self, name: str) -> bool:
        """As Compose asks."""
        _, *check = [self.here(word) for word in self.compose["services"][name]["healthcheck"]["test"]]
        return subprocess.run(check, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("compose")
    with ExitStack() as started, pytest.MonkeyPatch.context() as patch:
        if not folder_of(s3_jars()):
            patch.setenv("WINNOW_JARS", str(ROOT / ".winnow" / "jars"))
        assert folder_of(s3_jars()), "`make s3` gets the jars"
        running = Deployment(folder, started.enter_context(s3_server(folder)))
        for name in ("spark-master", "spark-worker", "spark-connect"):
            log = folder / f"{name}.log"
            process = started.enter_context(process_of(log, running.command(name), **running.environment(name)))
            deadline = time.monotonic() + 180
            while not running.is_healthy(name):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.5)
        yield running


def airflow(deployment: Deployment, *words: str) -> str:
    environment: Mapping[str, str] = {**os.environ, **deployment.environment("scheduler")}
    command = [str(ROOT / ".venv-airflow" / "bin" / "airflow"), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_airflow_answers_a_date_through_the_server(deployment: Deployment, tmp_path: Path) -> None:
    environment = deployment.environment("scheduler")
    sample = write_sample(tmp_path / "sample", documents=30)
    s3 = pafs.S3FileSystem(
        access_key=environment["AWS_ACCESS_KEY_ID"],
        secret_key=environment["AWS_SECRET_ACCESS_KEY"],
        region=environment["AWS_REGION"],
        endpoint_override=environment["AWS_ENDPOINT_URL"],
    )
    landing = environment["WINNOW_LANDING"].removeprefix("s3a://")
    pafs.copy_files(str(sample.documents), f"{landing}/{DATE}", destination_filesystem=s3)
    rows: list[dict[str, Any]] = [*make_profiles(20, seed=1), {"profile_id": "all", "xpath": "/*"}]
    with s3.open_output_stream(f"{landing}/profiles/profiles.jsonl") as out:
        out.write("".join(json.dumps(row) + "\n" for row in rows).encode())
    airflow(deployment, "db", "migrate")
    airflow(deployment, "pools", "import", str(INFRA / "airflow" / "pools.json"))
    for dag, conf in (
        ("ingest_documents", {"date": DATE}),
        ("refresh_profiles", {}),
        ("match_documents", {"from": DATE, "to": DATE}),
    ):
        airflow(deployment, "dags", "test", dag, "--conf", json.dumps(conf))

    def table(name: str) -> list[dict[str, Any]]:
        place = environment["WINNOW_LAKE"].replace("s3a://", "s3://")
        options = {name: value for name, value in environment.items() if name.startswith("AWS_")}
        rows: list[dict[str, Any]] = (
            deltalake.DeltaTable(f"{place}/{name}", storage_options=options).to_pyarrow_table().to_pylist()
        )
        return rows

    documents = {row["document_id"]: row["content"] for row in table("documents")}
    found = {(row["document_id"], row["profile_id"]) for row in table("matches")}
    matcher = Matcher(rows)
    assert found == {(match.document, match.profile_id) for match in matcher.match(documents.items())}
    assert len({document for document, _ in found}) == len(documents) > 10
