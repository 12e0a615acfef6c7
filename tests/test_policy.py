"""The rules that hold for the whole code: Spark is the engine, the client is thin, few rows come to the driver."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import winnow

PACKAGE = Path(winnow.__file__).parent
ROOMS = ("jobs", "ledger", "quality", "spark", "tables")  # what plans and writes; kernels are elsewhere
MEASURES = {"bench", "reproduce"}  # they look at Spark from outside
READS_WITHOUT_SPARK = {"query", "report"}
CLASSIC_ONLY = {"sparkContext", "rdd", "_jvm", "_sc", "_jsc", "_jdf", "parallelize", "accumulator", "setJobGroup"}
TO_THE_DRIVER = {"collect", "toPandas", "toArrow", "toLocalIterator"}
COLLECTS = {
    PACKAGE / "tables" / "small.py",
    PACKAGE / "spark" / "index.py",  # an index without a place goes through the client: bounded by MAX_CARRIED_BYTES
}
THIN = """
import importlib, pkgutil, sys
for name in ("numba", "lxml"):
    sys.modules[name] = None
import winnow
for room in {rooms}:
    package = importlib.import_module(f"winnow.{{room}}")
    for module in pkgutil.iter_modules(package.__path__, f"winnow.{{room}}."):
        if not module.name.endswith(("_tasks", "indexed_profiles")) or module.name.endswith("match_tasks"):
            importlib.import_module(module.name)
"""


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0]


SOURCES = [file for file in sorted(PACKAGE.rglob("*.py")) if room_of(file) not in MEASURES]


def attributes(file: Path) -> set[str]:
    return {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def broadcasts_by_context(file: Path) -> bool:
    """Whether a broadcast is anything but the hint of `pyspark.sql.functions`."""
    calls = (node.func for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))
    found = (call for call in calls if isinstance(call, ast.Attribute) and call.attr == "broadcast")
    return any(not (isinstance(call.value, ast.Name) and call.value.id == "sf") for call in found)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_spark_is_used_and_not_gone_around(file: Path) -> None:
    used = attributes(file)
    assert not used & CLASSIC_ONLY
    assert not broadcasts_by_context(file)
    assert not imports(file) & {"delta", "py4j"}
    if room_of(file) not in READS_WITHOUT_SPARK:
        assert not imports(file) & {"deltalake", "duckdb"}
    if file not in COLLECTS:
        assert not used & TO_THE_DRIVER


@pytest.mark.parametrize(
    "code",
    [
        "spark.sparkContext",
        "frame.rdd.map(f)",
        "frame.collect()",
        "frame.toArrow()",
        "context.broadcast(x)",
        "import duckdb",
    ],
)
def test_the_policy_sees_what_it_forbids(code: str, tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text(code)
    used = attributes(file) & (CLASSIC_ONLY | TO_THE_DRIVER)
    assert used or broadcasts_by_context(file) or imports(file) & {"duckdb"}


def test_whoever_plans_a_job_needs_no_kernel() -> None:
    script = THIN.format(rooms=ROOMS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
