"""Engines by name, those of other packages included: the sample package beside this test is built and installed."""

import ensurepip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from winnow.engines import ENGINES, engine_names
from winnow.engines.registry import check_name
from winnow.errors import UsageError

SAMPLE = Path(__file__).parent / "sample_engine"
USE = """
from winnow import Matcher
from winnow.engines import ENGINES, engine_names, resolve
from winnow.errors import UsageError

assert engine_names() == (*ENGINES, "ask-all", "no-class")
assert resolve("nfa")[0].__module__ == "winnow.engines.automata.nfa"
try:
    resolve("no-class")
except UsageError as error:
    assert error.code == "not_an_engine", error
profiles = [("a", "//a[b]"), ("b", "/r/b"), ("c", "//c/@x[. = '1']"), ("d", "count(//b) > 1")]
documents = [("1", b"<r><a><b/></a><b/></r>"), ("2", b"<r><c x='1'/></r>"), ("3", b"<r><a/><c x='2'/></r>")]
for engine in ("ask-all", "boxpath"):
    print(sorted(Matcher(profiles, engine=engine).match(documents)))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which pip, as Python brings it, has installed the sample package."""
    target = tmp_path_factory.mktemp("installed")
    (wheel,) = (Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(target)]
    command = [sys.executable, str(wheel / "pip"), "install", *options, str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def run(script: str, installed: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(installed)}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)


def test_an_engine_of_another_package_gives_the_same_matches(installed: Path) -> None:
    done = run(USE, installed)
    assert done.returncode == 0, done.stderr
    other, own = done.stdout.splitlines()
    assert other == own
    assert own.count("Match(") == 4


def test_a_client_without_kernels_checks_the_name(installed: Path) -> None:
    script = "import sys; sys.modules['numba'] = sys.modules['lxml'] = sys.modules['numpy'] = None\n"
    script += "from winnow.engines.registry import check_name; check_name('ask-all'); check_name('nfa+bottom-up')"
    assert run(script, installed).returncode == 0


def test_a_name_that_nobody_has() -> None:
    assert engine_names() == tuple(ENGINES)
    with pytest.raises(UsageError, match=r"unknown_engine.*ask-all.*one of boxpath"):
        check_name("ask-all")
