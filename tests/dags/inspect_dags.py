"""What the policy tests look at, as one line of JSON. Argument: the DAGs' folder.

Runs in the Airflow environment, but is found by the tests of the other one: so it imports Airflow only when it runs.
"""

import json
import sys
import time
from typing import Any

DATA = {"pyspark", "pandas", "numpy", "great_expectations", "pyarrow", "deltalake", "duckdb"}
HEAVY = DATA | {"numba", "lxml", "fastapi"}
EVIL = ("--evil $(id)", "a; id", "2026-11-16 --lake=/x", "../../etc/passwd", "-rf", "$(id)", "x\ny")


def seconds(value: Any) -> float | None:
    return value.total_seconds() if value else None


def describe(dag: Any) -> dict[str, Any]:
    from airflow.serialization.serialized_objects import DagSerialization

    return {
        "tags": sorted(dag.tags),
        "doc": dag.doc_md or "",
        "schedule": type(dag.timetable).__name__,
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "dagrun_timeout": seconds(dag.dagrun_timeout),
        "max_consecutive_failed_dag_runs": dag.max_consecutive_failed_dag_runs,
        "params": {name: dag.params.get_param(name).serialize() for name in dag.params},
        "accepted": accepted(dag),
        "tasks": {task.task_id: describe_task(task) for task in dag.tasks},
        "groups": {name: sorted(group.children) for name, group in dag.task_group.children.items() if is_group(group)},
        "serialized": len(json.dumps(DagSerialization.to_dict(dag))),
    }


def is_group(node: Any) -> bool:
    return hasattr(node, "children")


def describe_task(task: Any) -> dict[str, Any]:
    partial = getattr(task, "partial_kwargs", {})  # of a mapped task
    return {
        "owner": task.owner,
        "retries": task.retries,
        "timeout": seconds(task.execution_timeout),
        "pool": task.pool,
        "trigger_rule": task.trigger_rule.value,
        "upstream": sorted(task.upstream_task_ids),
        "outlets": sorted(asset.name for asset in task.outlets),
        "arguments": getattr(task, "arguments", None) or partial.get("arguments"),
        "job": getattr(task, "job", None) or partial.get("job"),
        "teardown": task.is_teardown,
        "links": sorted(link.name for link in task.operator_extra_links),
        "mapped": bool(partial) or any(hasattr(group, "_expand_input") for group in groups_of(task)),
        "weight": task.priority_weight,
        "told": len(task.on_failure_callback or ()),
    }


def groups_of(task: Any) -> Any:
    group = task.task_group
    while group is not None:
        yield group
        group = group.parent_group


def accepted(dag: Any) -> list[str]:
    """Which of the evil values a param would let through."""
    from airflow.sdk.exceptions import ParamValidationError

    found = []
    for name in dag.params:
        for value in EVIL:
            try:
                dag.params.get_param(name).resolve(value)
            except ParamValidationError:
                continue
            found.append(f"{name}={value!r}")
    return found


def causes() -> dict[str, str]:
    from winnow.airflow.running import by_cause

    exits = {"gate_failed": 65, "bad_lake": 2, "table_conflict": 75, "failed": 1, "no_input": 2}
    return {code: type(by_cause(code, "so", exit_code)).__name__ for code, exit_code in exits.items()}


if __name__ == "__main__":
    from airflow.dag_processing.dagbag import DagBag

    start = time.perf_counter()
    bag = DagBag(dag_folder=sys.argv[1])
    took = time.perf_counter() - start
    heavy = sorted(HEAVY & set(sys.modules))
    result = {
        "errors": bag.import_errors,
        "heavy": heavy,
        "seconds": took,
        "dags": {name: describe(dag) for name, dag in bag.dags.items()},
        "causes": causes(),
    }
    print("RESULT" + json.dumps(result, default=str))
