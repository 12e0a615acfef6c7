"""A package `winnow` of three small kernels in a folder of its own, for tests that edit sources or lock folders."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import winnow.arrays

SOURCES = {
    "__init__.py": "",
    "one/__init__.py": "",
    "one/constants.py": "FACTOR = 2\n",
    "one/helper.py": """
from winnow.arrays.kernel import kernel
from winnow.one import constants
from winnow.one.constants import (
    FACTOR,
)

@kernel
def scaled(value):
    return value * FACTOR
""",
    "two/__init__.py": "",
    "two/total.py": """
from winnow.arrays.kernel import kernel
from winnow.one.helper import scaled

@kernel
def total(values):
    found = 0
    for k in range(values.size):
        found += scaled(values[k])
    return found
""",
}
CALL = """
import json, sys
import numpy as np
from winnow.two.total import total
sums = [int(total(np.arange(4, dtype=dtype))) for dtype in sys.argv[1:]]
print(json.dumps([sums, sum(total.stats.cache_misses.values())]))
"""
# Root may write everywhere (CAP_DAC_OVERRIDE); dropped from the bounding set, the right is gone after exec.
WITHOUT_RIGHTS_OF_ROOT = """
import ctypes, os, sys
drop_from_bounding_set, dac_override = 24, 1
ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class Called(NamedTuple):
    sums: list[int]
    compiled: int  # kernels that were not found on disk
    stderr: str


class SmallPackage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        package = folder / "winnow"
        shutil.copytree(
            Path(winnow.arrays.__file__).parent, package / "arrays", ignore=shutil.ignore_patterns("__pycache__")
        )
        for name, source in SOURCES.items():
            (package / name).parent.mkdir(exist_ok=True)
            (package / name).write_text(source)

    def edit(self, name: str, before: str, after: str) -> None:
        """Neither time nor size of the file changes, so that only its content can tell."""
        file = self.folder / "winnow" / name
        assert len(before) == len(after)
        times = file.stat()
        file.write_text(file.read_text().replace(before, after))
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def start(self, *dtypes: str, script: str = CALL, **environment: str) -> "subprocess.Popen[str]":
        """Start a process that adds up 0 to 3 in each of the types."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        home = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(self.folder / "home")}
        return subprocess.Popen(
            [sys.executable, "-c", WITHOUT_RIGHTS_OF_ROOT, "-c", script, *dtypes],
            env=inherited | home | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, *dtypes: str, script: str = CALL, **environment: str) -> Called:
        return finished(self.start(*(dtypes or ("int64",)), script=script, **environment))

    def machine_code(self, folder: str = "") -> list[Path]:
        return sorted((self.folder / folder).rglob("*.nbc"))


def finished(process: "subprocess.Popen[str]") -> Called:
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stderr
    return Called(*json.loads(stdout), stderr)
