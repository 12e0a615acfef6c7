"""The rules that hold for the whole code: Spark is the engine, the client is thin, few rows come to the driver."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import winnow

PACKAGE = Path(winnow.__file__).parent
ROOMS = ("jobs", "ledger", "quality", "spark", "tables")  # what plans and writes; kernels are elsewhere
CLASSIC_ONLY = {"sparkContext", "rdd", "_jvm", "_sc", "_jsc", "parallelize", "accumulator", "setJobGroup"}
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


SOURCES = [file for room in ROOMS for file in sorted((PACKAGE / room).rglob("*.py"))]


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


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_spark_is_used_and_not_gone_around(file: Path) -> None:
    assert not attributes(file) & CLASSIC_ONLY
    assert not imports(file) & {"deltalake", "duckdb", "delta", "py4j"}
    if file not in COLLECTS:
        assert not attributes(file) & TO_THE_DRIVER


def test_whoever_plans_a_job_needs_no_kernel() -> None:
    script = THIN.format(rooms=ROOMS)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
