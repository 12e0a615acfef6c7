"""The files under infra/ that only a cluster would read: checked for what can be known without one."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from winnow.cli.main import COMMANDS

INFRA = ROOT / "infra"
COMPOSE = INFRA / "compose" / "compose.yaml"
LOAD = """
import json, sys, yaml
class Strict(yaml.SafeLoader):
    def construct_mapping(self, node, deep=False):
        names = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        assert len(names) == len(set(names)), f"a key twice in {names}"
        return super().construct_mapping(node, deep)
print(json.dumps([list(yaml.load_all(open(name), Strict)) for name in sys.argv[1:]], default=str))
"""
# Of the operator's CRD (v1beta2), what these manifests use: a misspelt field would be dropped without a word.
APPLICATION = {
    "type",
    "pythonVersion",
    "mode",
    "sparkVersion",
    "image",
    "imagePullPolicy",
    "mainApplicationFile",
    "arguments",
    "timeToLiveSeconds",
    "restartPolicy",
    "sparkConf",
    "driver",
    "executor",
}
POD = {"cores", "memory", "memoryOverhead", "labels", "envFrom", "securityContext"}
SCHEDULED = {
    "schedule",
    "concurrencyPolicy",
    "successfulRunHistoryLimit",
    "failedRunHistoryLimit",
    "template",
}
Json = dict[str, Any]

pytestmark = pytest.mark.airflow  # PyYAML is in that environment


def load(*files: Path) -> list[list[Json]]:
    command = [ROOT / ".venv-airflow" / "bin" / "python", "-c", LOAD, *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[list[Json]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def compose() -> Json:
    return load(COMPOSE)[0][0]


@pytest.fixture(scope="module")
def kubernetes() -> list[Json]:
    files = [path for path in sorted((INFRA / "kubernetes").glob("*.yaml")) if path.stem != "airflow-values"]
    return [document for documents in load(*files) for document in documents]


def locked(name: str, package: str) -> str:
    found = re.search(rf"^{re.escape(package)}==(\S+)", (INFRA / "requirements" / name).read_text(), re.MULTILINE)
    assert found
    return found[1]


def test_compose_names_only_what_it_has(compose: Json) -> None:
    services = compose["services"]
    for name, service in services.items():
        assert service["image"], name
        tag = service["image"].rpartition(":")[2]
        assert tag != "latest" or service["image"].startswith("winnow:"), name
        for needed, how in service.get("depends_on", {}).items():
            assert needed in services, name
            assert how["condition"] != "service_healthy" or "healthcheck" in services[needed], needed
        assert set(service["networks"]) <= set(compose["networks"]), name
        named = {volume.split(":")[0] for volume in service.get("volumes", []) if volume[0] not in "./$"}
        assert named <= set(compose["volumes"]), name
        assert set(service.get("secrets", [])) <= set(compose["secrets"]), name
    assert {"api-server", "scheduler", "dag-processor", "triggerer"} <= set(services)
    built = services["spark-master"]["build"]
    assert (COMPOSE.parent / built["context"] / built["dockerfile"]).is_file()


def test_compose_is_reached_only_from_this_machine(compose: Json) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_compose_has_no_secret_of_its_own(compose: Json) -> None:
    required = set(re.findall(r"\$\{(\w+):\?\}", COMPOSE.read_text()))
    example = (COMPOSE.parent / "example.env").read_text()
    assert required <= set(re.findall(r"^(\w+)=$", example, re.MULTILINE))
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD$|SECRET|KEY$|KEY_ID$", name):
                assert re.fullmatch(r"\$\{\w+:\?\}", value), name


@pytest.mark.skipif(shutil.which("docker") is None, reason="there is no docker here")
def test_compose_by_docker_itself(tmp_path: Path) -> None:
    if subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("this docker has no compose")
    env = tmp_path / "env"
    env.write_text(re.sub(r"=$", "=x", (COMPOSE.parent / "example.env").read_text(), flags=re.MULTILINE))
    command = ["docker", "compose", "--file", str(COMPOSE), "--env-file", str(env), "config", "--quiet"]
    subprocess.run(command, check=True)


def test_kubernetes_objects_know_each_other(kubernetes: list[Json]) -> None:
    known = {(document["kind"], document["metadata"].get("name")) for document in kubernetes}
    for document in kubernetes:
        assert document["apiVersion"]
        assert re.fullmatch(r"[a-z0-9-]+", document["metadata"].get("name") or document["metadata"]["generateName"])
        assert document["kind"] == "Namespace" or document["metadata"]["namespace"] == "winnow"
        if document["kind"] == "RoleBinding":
            assert ("Role", document["roleRef"]["name"]) in known
            assert all((subject["kind"], subject["name"]) in known for subject in document["subjects"])
        if document["kind"] == "Secret":
            assert set(document["stringData"].values()) == {""}, "a secret in git"
    (values,) = load(INFRA / "kubernetes" / "airflow-values.yaml")[0]
    volumes = {volume["name"]: volume for volume in values["scheduler"]["extraVolumes"]}
    assert ("ConfigMap", volumes["spark"]["configMap"]["name"]) in known
    assert ("PersistentVolumeClaim", volumes["profiles"]["persistentVolumeClaim"]["claimName"]) in known
    assert ("ServiceAccount", values["scheduler"]["serviceAccount"]["name"]) in known
    assert values["airflowVersion"] == locked("airflow.txt", "apache-airflow")
    assert json.loads(values["env"][0]["value"])["extra"]["deploy-mode"] == "client"


def applications(kubernetes: list[Json]) -> list[Json]:
    scheduled = [document["spec"] for document in kubernetes if document["kind"] == "ScheduledSparkApplication"]
    assert all(set(spec) == SCHEDULED and spec["concurrencyPolicy"] == "Forbid" for spec in scheduled)
    single = [document["spec"] for document in kubernetes if document["kind"] == "SparkApplication"]
    return [*(spec["template"] for spec in scheduled), *single]


def test_spark_applications(kubernetes: list[Json]) -> None:
    known = {(document["kind"], document["metadata"].get("name")) for document in kubernetes}
    (policy,) = [document["spec"] for document in kubernetes if document["kind"] == "NetworkPolicy"]
    found = applications(kubernetes)
    assert found
    for spec in found:
        assert set(spec) == APPLICATION
        assert set(spec["driver"]) == POD | {"serviceAccount"}
        assert set(spec["executor"]) == POD | {"instances"}
        assert spec["sparkVersion"] == locked("job.txt", "pyspark")
        assert ("ServiceAccount", spec["driver"]["serviceAccount"]) in known
        for pod in (spec["driver"], spec["executor"]):
            assert pod["securityContext"]["runAsNonRoot"]
            assert policy["podSelector"]["matchLabels"].items() <= pod["labels"].items()
            kinds = {"configMapRef": "ConfigMap", "secretRef": "Secret"}
            assert all((kinds[kind], ref["name"]) in known for entry in pod["envFrom"] for kind, ref in entry.items())
        assert all(isinstance(value, str) for value in spec["sparkConf"].values())


def test_their_jobs_and_arguments_exist(kubernetes: list[Json]) -> None:
    for spec in applications(kubernetes):
        job = ROOT / spec["mainApplicationFile"].removeprefix("local:///opt/winnow/")
        called = re.search(r'main\(\["([\w-]+)"', job.read_text())
        assert called
        assert called[1] in COMMANDS
        done = subprocess.run(
            [ROOT / ".venv" / "bin" / "winnow", called[1], "--help"], capture_output=True, text=True, check=True
        )
        assert all(argument.split("=")[0] in done.stdout for argument in spec["arguments"])


def test_spark_defaults() -> None:
    files = [*INFRA.glob("spark/*/spark-defaults.conf")]
    assert {file.parent.name for file in files} == {"local", "cluster"}
    for file in files:
        lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
        names = [line.split()[0] for line in lines]
        assert all(re.fullmatch(r"spark(\.\w+)+\s+\S.*", line) for line in lines)
        assert len(names) == len(set(names))
        log4j = file.with_name("log4j2.properties").read_text()
        assert log4j == (ROOT / "lib/winnow/tables/log4j2.properties").read_text()
    local = (INFRA / "spark/local/spark-defaults.conf").read_text()
    assert re.search(r"^spark\.driver\.bindAddress\s+127\.0\.0\.1$", local, re.MULTILINE)


def test_the_image_copies_what_exists() -> None:
    text = (INFRA / "image" / "Dockerfile").read_text()
    allowed = (INFRA / "image" / "Dockerfile.dockerignore").read_text().splitlines()
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        *sources, _ = [word for word in line.split() if not word.startswith("--")]
        for source in sources:
            assert (ROOT / source).exists(), source
            assert any(source == name[1:] or source.startswith(f"{name[1:]}/") for name in allowed), source
    subprocess.run(["bash", "-n", INFRA / "image" / "entrypoint.sh"], check=True)


def test_airflow_env_is_loopback_and_without_secrets() -> None:
    text = (INFRA / "airflow" / "airflow.env").read_text()
    settings = dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    assert not [name for name in settings if name.startswith("AIRFLOW_CONN_")]  # the supervisor makes it, with a token
    assert set(re.findall(r"https?://([^:/]+)", "\n".join(settings.values()))) == {"127.0.0.1"}
    secret = [name for name in settings if re.search("KEY|SECRET|PASSWORD", name)]
    assert all(name.endswith(("_CMD", "_FILE")) for name in secret)
