"""The core runs where neither Spark nor Airflow is installed."""

import subprocess
import sys

BLOCKER = """
import importlib, pkgutil, sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"pyspark", "delta", "airflow", "great_expectations", "pandas"}:
            raise ImportError(f"the pure core imported {name}")

sys.meta_path.insert(0, Blocked())
import winnow
ROOMS = ("airflow", "jobs", "quality", "query", "report", "spark", "tables", "bench")
SPARK = tuple(f"winnow.{room}" for room in ROOMS)
seen = 0
for module in pkgutil.walk_packages(winnow.__path__, "winnow."):
    if not module.name.startswith(SPARK):
        importlib.import_module(module.name)
        seen += 1
print(seen)
"""


def test_everything_else_imports_where_pyspark_is_blocked() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10


def test_the_blocker_blocks() -> None:
    script = BLOCKER + "\nimport winnow.tables.session"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "the pure core imported" in done.stderr


ALONE = """
import importlib, os, pkgutil, sys
import lxml.etree, numba, pyarrow  # once, for all children
import winnow
folders = [f"{winnow.__path__[0]}/{package}" for package in ("index", "values")]
for module in pkgutil.iter_modules(folders):
    package = module.module_finder.path.rpartition("/")[2]
    child = os.fork()
    if not child:
        importlib.import_module(f"winnow.{package}.{module.name}")
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"winnow.{package}.{module.name} cannot be imported first")
"""


def test_packages_that_need_the_engines_can_be_imported_before_them() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
