"""The wheel of this checkout, installed in an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

UV = ROOT / ".winnow" / "bootstrap" / "bin" / "uv"


def install_wheel(folder: Path) -> Path:
    """Makes the environment `v` in a folder: the wheel and what it asks for, in the locked versions."""
    if not UV.exists():
        pytest.skip("uv comes with `make setup`")
    build = [UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable, "-o", folder, ROOT]
    subprocess.run(build, check=True)
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder / "v"], check=True)
    lock = ROOT / "infra" / "requirements" / "job.txt"
    (wheel,) = folder.glob("*.whl")
    install("--python", folder / "v" / "bin" / "python", "-c", lock, wheel)
    return folder


def install(*arguments: str | Path) -> None:
    """`uv pip install`, which trusts what the machine trusts, as in `infra/setup.sh`."""
    environment = os.environ | {"UV_SYSTEM_CERTS": "true"}
    subprocess.run([UV, "pip", "install", "--quiet", *arguments], check=True, env=environment)
