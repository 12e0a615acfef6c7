"""Whoever plans a job needs no kernel: `winnow.spark` plans where numba and lxml are blocked."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import winnow.spark

FOLDER = Path(winnow.spark.__file__).parent
TESTS = Path(__file__).parents[1]
FORBIDDEN = {"sparkContext", "SparkContext", "rdd", "_jvm", "_sc", "_jsc", "_jdf", "_jsparkSession", "broadcast"}
FORBIDDEN |= {"parallelize", "accumulator", "TaskContext"}
PLAN = """
import sys
for name in ("numba", "lxml", "winnow.matcher", "winnow.encoding", "winnow.engines.base"):
    sys.modules[name] = None
import winnow.spark
from winnow.spark.index import Index
from winnow.spark.match_tasks import IndexFiles
from spark.conftest import open_session_at
spark = open_session_at(sys.argv[1])
documents = spark.createDataFrame([("a", "<a/>")], "document_id string, content string")
index = Index("boxpath", 1, IndexFiles(("x.winnow",), None), documents)
winnow.spark.register(spark)
winnow.spark.match(documents, index).explain()
"""


def test_a_plan_needs_no_kernel(address: str) -> None:
    command = [sys.executable, "-c", PLAN, address]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "MapInArrow" in done.stdout


def test_no_classic_api() -> None:
    files = list(FOLDER.rglob("*.py"))
    assert len(files) > 5
    for file in files:
        assert not names_in(ast.parse(file.read_text())) & FORBIDDEN, file.name


def names_in(tree: ast.AST) -> set[str]:
    """Of attributes, variables, imports, and of attributes that are asked for by text."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Constant(value=str(name)):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found |= {alias.name for alias in names}
    return found


@pytest.mark.parametrize(
    "code",
    [
        "spark.sparkContext",
        "from pyspark import SparkContext",
        "from pyspark.sql.functions import broadcast",
        "getattr(frame, '_jdf')",
        "frame.rdd.map(f)",
    ],
)
def test_the_policy_sees_the_classic_api(code: str) -> None:
    assert names_in(ast.parse(code)) & FORBIDDEN
