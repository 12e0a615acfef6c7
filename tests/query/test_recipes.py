"""Every recipe of infra/docs/queries.md, as it is written there."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT
from winnow.cli.main import main
from winnow.query import matches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.tables import Lake

PAGE = (ROOT / "infra" / "docs" / "queries.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PROGRAMS = [text for kind, text in BLOCKS if kind == "python"]
COMMANDS = [line for kind, text in BLOCKS if not kind for line in text.splitlines()]
QUESTIONS = [text.strip() for kind, whole in BLOCKS if kind == "sql" for text in whole.split(";") if text.strip()]

pytestmark = pytest.mark.spark


@pytest.fixture
def place(published_lake: "Lake", tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the page's lake is the published one."""
    (tmp_path / ".winnow").mkdir()
    (tmp_path / ".winnow" / "lake").symlink_to(published_lake.folder)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def name_of(program: str) -> str:
    return next(word for word in ("spark", "delta_scan", "duckdb", "polars", "deltalake") if word in program)


def test_the_page_has_a_recipe_for_each_reader() -> None:
    assert [name_of(text) for text in PROGRAMS] == ["spark", "duckdb", "delta_scan", "polars", "deltalake"]
    assert len(COMMANDS) >= 4
    assert len(QUESTIONS) >= 6


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_programs(program: str, spark: "SparkSession", place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(program, "queries.md", "exec"), names)
    for line in program.splitlines():  # what is shown at a prompt
        if line.startswith(("DeltaTable(", "pl.")):
            shown = eval(line.split("  #")[0], names)
            assert shown.version() == 1 if hasattr(shown, "version") else len(shown) or len(shown.columns)


@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, _, output = line.split("#", maxsplit=1)[0].partition(" > ")
    program, *words = shlex.split(command)
    assert program == "winnow"
    assert main(words) == 0
    assert capsys.readouterr().out or output


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions(question: str, spark: "SparkSession", published_lake: "Lake") -> None:
    answer = matches.sql(published_lake, question).read_all()
    views = set(re.findall(r"(?:from|join|,) (\w+)", question)) & {
        path.name for path in published_lake.folder.iterdir()
    }
    for name in views:
        spark.read.table(published_lake.table(name)).createOrReplaceTempView(name)
    try:
        assert spark.sql(question).count() == answer.num_rows
    finally:
        for name in views:
            spark.catalog.dropTempView(name)
