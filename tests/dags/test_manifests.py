"""The files under infra/ that only a cluster would read: checked for what can be known without one."""

import ast
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conftest import ROOT
from jobs.slow import nightly
from packages import install
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
        assert tag != "latest" or service["image"].startswith("winnow-"), name
        for needed, how in service.get("depends_on", {}).items():
            assert needed in services, name
            assert how["condition"] != "service_healthy" or "healthcheck" in services[needed], needed
        assert set(service["networks"]) <= set(compose["networks"]), name
        named = {volume.split(":")[0] for volume in service.get("volumes", []) if volume[0] not in "./$"}
        assert named <= set(compose["volumes"]), name
        assert set(service.get("secrets", [])) <= set(compose["secrets"]), name
    assert {"api-server", "scheduler", "dag-processor", "triggerer"} <= set(services)
    for name in ("spark-master", "airflow-init"):
        built = services[name]["build"]
        dockerfile = (COMPOSE.parent / built["context"] / built["dockerfile"]).read_text()
        assert f"AS {built['target']}\n" in dockerfile
        assert services[name]["image"] == f"winnow-{built['target']}:latest"


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


def pods(kubernetes: list[Json]) -> list[Json]:
    """The specifications of all pods, wherever they are in their objects."""
    found = []
    for document in kubernetes:
        spec = document.get("spec", {})
        spec = spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec
        if "template" in spec:
            found.append(spec["template"]["spec"])
    return found


def test_kubernetes_objects_know_each_other(kubernetes: list[Json]) -> None:
    known = {(document["kind"], document["metadata"].get("name")) for document in kubernetes}
    keys = {document["metadata"]["name"]: set(document["stringData"]) for document in of_kind(kubernetes, "Secret")}
    for document in kubernetes:
        assert re.fullmatch(r"[a-z0-9-]+", document["metadata"].get("name") or document["metadata"]["generateName"])
        assert document["kind"] == "Namespace" or document["metadata"]["namespace"] == "winnow"
    for binding in of_kind(kubernetes, "RoleBinding"):
        assert ("Role", binding["roleRef"]["name"]) in known
        assert all((subject["kind"], subject["name"]) in known for subject in binding["subjects"])
    for secret in of_kind(kubernetes, "Secret"):
        assert set(secret["stringData"].values()) == {""}, "a secret in git"
    for pod in pods(kubernetes):
        assert ("ServiceAccount", pod.get("serviceAccountName", "winnow")) in known
        assert pod["securityContext"]["runAsNonRoot"]
        for volume in pod.get("volumes", []):
            assert ("ConfigMap", volume["configMap"]["name"]) in known
        for container in pod["containers"]:
            assert not container["securityContext"]["allowPrivilegeEscalation"]
            assert container["resources"]["limits"]["memory"]
            kinds = {"configMapRef": "ConfigMap", "secretRef": "Secret"}
            refs = [(kind, ref["name"]) for entry in container["envFrom"] for kind, ref in entry.items()]
            assert all((kinds[kind], name) in known for kind, name in refs)
            for entry in container["env"]:
                ref = entry.get("valueFrom", {}).get("secretKeyRef")
                assert ref is None or ref["key"] in keys[ref["name"]]
    (values,) = load(INFRA / "kubernetes" / "airflow-values.yaml")[0]
    assert all(secret["secretKey"] in keys[secret["secretName"]] for secret in values["secret"])
    assert values["airflowVersion"] == locked("airflow.txt", "apache-airflow")


def of_kind(kubernetes: list[Json], kind: str) -> list[Json]:
    return [document for document in kubernetes if document["kind"] == kind]


def test_one_driver_that_only_clients_reach(kubernetes: list[Json]) -> None:
    (server,) = of_kind(kubernetes, "Deployment")
    assert server["spec"]["replicas"] == 1
    assert server["spec"]["strategy"]["type"] == "Recreate"
    labels = server["spec"]["template"]["metadata"]["labels"]
    (container,) = server["spec"]["template"]["spec"]["containers"]
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
    (service,) = of_kind(kubernetes, "Service")
    assert service["spec"]["selector"] == server["spec"]["selector"]["matchLabels"] == labels
    (policy,) = of_kind(kubernetes, "NetworkPolicy")
    (chosen,) = policy["spec"]["podSelector"]["matchExpressions"]
    assert labels["app.kubernetes.io/name"] in chosen["values"]
    assert [rule.get("ports") for rule in policy["spec"]["ingress"]] == [None, [{"port": 15002}]]
    (spark,) = [config for config in of_kind(kubernetes, "ConfigMap") if config["metadata"]["name"] == "winnow-spark"]
    assert "name   winnow-executor" in spark["data"]["spark-defaults.conf"]
    assert "winnow-executor" in chosen["values"]


def test_commands_and_arguments_exist(compose: Json, kubernetes: list[Json]) -> None:
    calls = [container["args"] for pod in pods(kubernetes) for container in pod["containers"]]
    calls += [service["command"] for service in compose["services"].values() if "winnow" in service.get("command", [])]
    assert len(calls) == 4
    for program, command, *arguments in calls:
        assert program == "winnow"
        assert command in COMMANDS
        help_text = [ROOT / ".venv" / "bin" / "winnow", command, "--help"]
        done = subprocess.run(help_text, capture_output=True, text=True, check=True)
        assert all(word.split("=")[0] in done.stdout for word in arguments if word.startswith("--"))


@nightly
def test_every_field_is_known(compose: Json, kubernetes: list[Json], tmp_path: Path) -> None:
    """A misspelt field would be dropped without a word: by Compose's own schema, and by Kubernetes' own client."""
    packages = tmp_path / "packages"
    lock = INFRA / "requirements" / "schemas.txt"
    install("--no-deps", "--require-hashes", "--target", packages, "-r", lock)
    schema = json.loads((packages / "compose" / "config" / "compose_spec.json").read_text())
    named = {name: value for name, value in compose.items() if name != "name"}  # which is younger than this schema
    jsonschema.Draft7Validator(schema).validate(named)
    (settings,) = [d for d in of_kind(kubernetes, "ConfigMap") if "executor.yaml" in d["data"]]
    (tmp_path / "executor.yaml").write_text(settings["data"]["executor.yaml"])
    for document in [*kubernetes, *load(tmp_path / "executor.yaml")[0]]:
        version = document["apiVersion"].rpartition("/")[2]
        require_fields(document, f"{version.capitalize()}{document['kind']}", packages, document["kind"])
    with pytest.raises(AssertionError, match=r"Service\.spec has no field port"):
        require_fields({"spec": {"port": 1}}, "V1Service", packages, "Service")


def require_fields(value: object, kind: str, packages: Path, where: str) -> None:
    """A field that the client's model of its object does not have is a mistake, and so is one of another type."""
    if found := re.fullmatch(r"list\[(\w+)\]", kind):
        assert isinstance(value, list), where
        for number, item in enumerate(value):
            require_fields(item, found[1], packages, f"{where}[{number}]")
    elif found := re.fullmatch(r"dict\(str, (\w+)\)", kind):
        assert isinstance(value, dict), where
        for name, item in value.items():
            require_fields(item, found[1], packages, f"{where}.{name}")
    elif kind in {"str", "int", "bool"}:
        assert isinstance(value, {"str": str, "int": int, "bool": bool}[kind]), f"{where} is no {kind}"
    elif kind != "object" and not kind.startswith("date"):
        types, fields = model_of(kind, packages)
        assert isinstance(value, dict), where
        for name, item in value.items():
            assert name in fields, f"{where} has no field {name}"
            require_fields(item, types[fields[name]], packages, f"{where}.{name}")


@cache
def model_of(kind: str, packages: Path) -> tuple[dict[str, str], dict[str, str]]:
    """The types of a model of the client, by attribute, and its attributes by their names in YAML."""
    texts = (file.read_text() for file in (packages / "kubernetes" / "client" / "models").glob("*.py"))
    text = next(text for text in texts if f"class {kind}(" in text)
    (model,) = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    found = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in model.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict)
    }
    return found["openapi_types"], {name: attribute for attribute, name in found["attribute_map"].items()}


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
