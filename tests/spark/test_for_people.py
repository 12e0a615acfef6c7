"""What people start from: the example notebook runs, and their own programs are checked by mypy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from encoding.documents import NIGHTLY

from .conftest import KIND

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "infra" / "notebooks" / "winnow-in-spark.ipynb"
PROGRAM = """
from pyspark.sql import DataFrame, SparkSession

from winnow.spark import Index, build_index, match, register


def matches_of(spark: SparkSession, place: str) -> DataFrame:
    register(spark)
    documents = spark.read.format("winnow_xml").load(place).where("reason IS NULL")
    index: Index = build_index(spark.table("profiles"), partitions=2)
    return match(documents, index, carry=["source"], outcomes=True)
"""


def cells() -> list[dict[str, object]]:
    return [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.spark
@pytest.mark.skipif(not NIGHTLY, reason="nightly")
def test_the_notebook_runs(spark: SparkSession) -> None:
    names = {"spark": spark}
    for number, cell in enumerate(cells()):
        exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)


def test_the_notebook_has_no_outputs() -> None:
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells())


@pytest.mark.skipif(KIND != "classic", reason="has nothing to do with sessions")
@pytest.mark.parametrize(
    ("program", "fault"), [(PROGRAM, ""), (PROGRAM.replace('["source"]', "7"), 'Argument "carry"')]
)
def test_programs_of_users_are_typed(tmp_path: Path, program: str, fault: str) -> None:
    (tmp_path / "program.py").write_text(program)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(ROOT / ".mypy_cache" / "users"),
        "program.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == bool(fault), done.stdout + done.stderr
    assert fault in done.stdout
