"""Runs the tests of the package for Airflow where Airflow is installed, its doctests among them."""

import os
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

pytestmark = pytest.mark.airflow


def test_the_provider_on_its_own(tmp_path: Path) -> None:
    env = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    options = ["-q", "--doctest-modules", "-p", "no:cacheprovider", "--confcutdir=tests/airflow", "-c", "/dev/null"]
    paths = ["tests/airflow", "lib/winnow/airflow"]
    command = [ROOT / ".venv-airflow" / "bin" / "python", "-m", "pytest", *options, "--rootdir", ROOT, *paths]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
