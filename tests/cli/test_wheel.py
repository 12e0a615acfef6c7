"""The wheel in an environment of its own, outside the clone: what needs no lake needs nothing but the wheel."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import winnow
from conftest import ROOT
from jobs.slow import NIGHTLY, nightly
from packages import install, install_wheel

PACKAGE = Path(winnow.__file__).parent
PROGRAM = """
from pathlib import Path

from winnow import Match, Matcher


def cheap(folder: Path) -> list[Match]:
    matcher = Matcher([("cheap", "//item[@price < 10]")])
    matcher.add([{"profile_id": "noted", "xpath": "/order/note"}])
    answers = matcher.match(folder.glob("*.xml"))
    return list(answers)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = install_wheel(tmp_path_factory.mktemp("wheel"))
    if not NIGHTLY:  # kernels are named by the sources they come from, and these are the same
        (site,) = (folder / "v" / "lib").glob("python3.*/site-packages/winnow")
        for file in PACKAGE.rglob("*.nbc"):
            target = site / file.relative_to(PACKAGE)
            target.parent.mkdir(exist_ok=True)
            shutil.copy(file, target)
    (folder / "a.xml").write_text("<order><item price='7'/></order>")
    (folder / "profiles.jsonl").write_text(json.dumps({"profile_id": "p", "xpath": "//item[@price < 10]"}) + "\n")
    return folder


def run(
    folder: Path, *words: str, program: str = "winnow", more: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "WINNOW_DRIVER_MEMORY": "1g", **(more or {})}
    command = [str(folder / "v" / "bin" / program), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["match", "a.xml", "--profiles", "profiles.jsonl"], "p,/order/item[1]/@price"),
        (["check", "profiles.jsonl"], "1 native, 0 hybrid, 0 rejected"),
        (["explain", "a.xml", "--profile", "//item"], "✓ //item"),
        (["generate", "documents", "d", "--dtd", "news", "--documents", "3"], "documents  d"),
        (["doctor"], "winnow match, check, explain and Matcher work without"),
        (["completion", "bash"], "_shtab_winnow"),
    ],
)
def test_commands_without_a_lake(words: list[str], out: str, installed: Path) -> None:
    done = run(installed, *words)
    assert done.returncode == 0, done.stderr
    assert out in done.stdout
    if NIGHTLY and words[0] == "match":
        assert re.search(r"^compiling kernels, once: .+ \(\d+\) … \d+ s$", done.stderr, re.MULTILINE)


def test_a_command_with_a_lake_says_what_to_install(installed: Path) -> None:
    done = run(installed, "ingest", "documents", "a.xml", "--date", "2026-11-16")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0].startswith("winnow: not_installed: this needs pyspark, which is not installed")
    assert "pip install 'winnow[spark]'" in done.stderr


@nightly
def test_the_extra_for_spark_is_enough_for_a_lake(installed: Path) -> None:
    """Its jars come from Maven Central, to the folder that WINNOW_JARS names."""
    lock = ROOT / "infra" / "requirements" / "job.txt"
    (wheel,) = installed.glob("*.whl")
    python = installed / "v" / "bin" / "python"
    install("--python", python, "-c", lock, f"{wheel}[spark]")
    words = ["ingest", "documents", "a.xml", "--date", "2026-11-16", "--lake", "L"]
    done = run(installed, *words)
    assert done.stderr.splitlines()[0].startswith(
        "winnow: jars_missing: Spark needs the Delta jars io.delta:delta-spark_"
    )
    assert "`winnow setup-jars` gets them" in done.stderr
    jars = {"WINNOW_JARS": str(installed / "jars")}
    done = run(installed, "setup-jars", more=jars)
    assert f"the Delta jars are in {installed / 'jars'}" in done.stdout, done.stderr
    done = run(installed, *words, more=jars)
    assert "1 read · 1 stored" in done.stdout, done.stderr


def test_the_example_of_the_readme(installed: Path) -> None:
    example = re.search(r"Or from Python:\n\n```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert example
    (installed / "example.py").write_text(example[1])
    done = run(installed, "example.py", program="python")
    assert done.stdout == "a.xml cheap /order/item[1]/@price\n", done.stderr


def test_programs_of_users_are_typed(installed: Path) -> None:
    (installed / "program.py").write_text(PROGRAM)
    (installed / "wrong.py").write_text(PROGRAM.replace('[("cheap", ', "[(7, "))
    python = str(installed / "v" / "bin" / "python")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", ".mypy_cache"]
    for file, faults in (("program.py", 0), ("wrong.py", 1)):
        done = subprocess.run([*command, file], cwd=installed, capture_output=True, text=True, check=False)
        assert done.returncode == faults, done.stdout
