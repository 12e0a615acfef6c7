"""The commands of the README, as they are written there."""

import gzip
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT
from jobs.slow import nightly

SECTIONS = dict(
    re.findall(r"^(?:## )?([^\n]+)\n\n```\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
)
LAKE = SECTIONS["Five minutes on your own files"].splitlines()
QUICK = [
    line for title, text in SECTIONS.items() for line in text.splitlines() if " match " in line or " explain " in line
]
GENERATED = [line for text in SECTIONS.values() for line in text.splitlines() if " generate " in line]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the README's commands name."""
    folder = tmp_path_factory.mktemp("home")
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / "xml").mkdir()
    (folder / "xml" / "a.xml").write_text("<order><item price='7'><name>Tea</name></item></order>")
    (folder / "drop" / "x").mkdir(parents=True)
    (folder / "drop" / "x" / "b.xml.gz").write_bytes(gzip.compress(b"<order><item price='70'/></order>"))
    (folder / "big.xml").write_text("<set><PubmedArticle><a/></PubmedArticle><PubmedArticle><b/></PubmedArticle></set>")
    with tarfile.open(folder / "archive.tar.gz", "w:gz") as archive:
        archive.add(folder / "xml" / "a.xml", "c.xml")
    row = {"profile_id": "cheap", "xpath": "//item[@price < 10]/name", "destination": "desk-1", "subscriber": "s"}
    (folder / "profiles.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def run(line: str, home: Path) -> str:
    environment = {**os.environ, "HOME": str(home), "WINNOW_DRIVER_MEMORY": "1g"}
    environment.pop("WINNOW_LAKE", None)
    done = subprocess.run(["bash", "-c", line], cwd=home, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_readme_has_commands() -> None:
    assert len(LAKE) >= 9
    assert len(QUICK) >= 3
    assert len(GENERATED) >= 2


@pytest.mark.parametrize("line", QUICK)
def test_commands_without_a_lake(line: str, home: Path) -> None:
    run(line, home)
    assert (home / "matches.parquet").stat().st_size


@nightly
@pytest.mark.parametrize("line", GENERATED)
def test_generated_inputs(line: str, home: Path) -> None:
    run(line, home)


@nightly
def test_five_minutes(home: Path) -> None:
    told = {line: run(line, home) for line in LAKE}
    assert "1 new matches" in next(out for line, out in told.items() if " run " in line)
    assert "cheap" in next(out for line, out in told.items() if " query " in line)
    assert (home / ".winnow" / "deliveries" / "2026-11-16" / "desk-1.jsonl").exists()
