"""Whoever plans a job needs no kernel: `winnow.spark` plans where numba and lxml are blocked."""

import ast
import subprocess
import sys
from pathlib import Path

import winnow.spark

FOLDER = Path(winnow.spark.__file__).parent
TESTS = Path(__file__).parents[1]
FORBIDDEN = {"sparkContext", "rdd", "_jvm", "_sc", "_jsc", "broadcast", "parallelize", "accumulator"}
PLAN = """
import sys
for name in ("numba", "lxml", "winnow.matcher", "winnow.encoding"):
    sys.modules[name] = None
import winnow.spark
from winnow.spark.index import Index
from winnow.spark.match_tasks import IndexFiles
from spark.conftest import open_session_at
spark = open_session_at(sys.argv[1])
documents = spark.createDataFrame([("a", "<a/>")], "document_id string, content string")
index = Index("boxpath", 1, IndexFiles(("x.winnow",), None), documents)
winnow.spark.match(documents, index).explain()
"""


def test_a_plan_needs_no_kernel(address: str) -> None:
    command = [sys.executable, "-c", PLAN, address]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "MapInArrow" in done.stdout


def test_no_classic_api() -> None:
    for file in FOLDER.glob("*.py"):
        names = {node.attr for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Attribute)}
        assert not names & FORBIDDEN, file.name
