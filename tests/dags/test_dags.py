"""DAGs import in the Airflow environment, know their owners, and load nothing heavy."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

PYTHON = ROOT / ".venv-airflow" / "bin" / "python"
SCRIPT = """
import json, sys
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(dag_folder=sys.argv[1])
heavy = sorted({"pyspark.sql.session", "great_expectations", "numba", "lxml", "winnow"} & set(sys.modules))
dags = {
    name: {
        "tags": sorted(dag.tags),
        "doc": bool(dag.doc_md),
        "tasks": {t.task_id: [t.owner, t.retries, t.execution_timeout is not None] for t in dag.tasks},
    }
    for name, dag in bag.dags.items()
}
print("RESULT" + json.dumps({"errors": bag.import_errors, "dags": dags, "heavy": heavy}))
"""


@pytest.mark.airflow
def test_dags_follow_the_policy(tmp_path: Path) -> None:
    env = {**os.environ, "AIRFLOW_HOME": str(tmp_path), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    done = subprocess.run(
        [str(PYTHON), "-c", SCRIPT, str(ROOT / "dags")], capture_output=True, text=True, env=env, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert lines, done.stderr
    result = json.loads(lines[0].removeprefix("RESULT"))
    assert result["errors"] == {}
    assert result["heavy"] == []
    assert set(result["dags"]) == {"ingest_documents"}
    for dag in result["dags"].values():
        assert dag["doc"]
        assert "winnow" in dag["tags"]
        assert all(owner == "winnow" and retries >= 1 and timeout for owner, retries, timeout in dag["tasks"].values())
