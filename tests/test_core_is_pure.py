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
SPARK = (
    "winnow.lake.session",
    "winnow.lake.daemon",
    "winnow.pipeline.backfill",
    "winnow.pipeline.encode_documents",
    "winnow.pipeline.encode_profiles",
    "winnow.pipeline.ingest_documents",
    "winnow.pipeline.join_paths",
    "winnow.pipeline.match_documents",
    "winnow.pipeline.run",
    "winnow.quality",
)
seen = 0
for module in pkgutil.walk_packages(winnow.__path__, "winnow."):
    if not module.name.startswith(SPARK):
        importlib.import_module(module.name)
        seen += 1
print(seen)
"""


def test_everything_but_lake_and_pipeline_imports_where_pyspark_is_blocked() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKER], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10


def test_the_blocker_blocks() -> None:
    script = BLOCKER + "\nimport winnow.lake.session"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "the pure core imported" in done.stderr
