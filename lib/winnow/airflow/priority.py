"""The day goes before a backfill: of tasks that wait for a slot of the pool, those of `airflow backfill` come last."""

from typing import TYPE_CHECKING

from airflow.task.priority_strategy import PriorityWeightStrategy

if TYPE_CHECKING:
    from airflow.models.taskinstance import TaskInstance

DAY_FIRST = "winnow.airflow.priority.DayFirst"  # as tasks name it: Airflow's mapped tasks take it by name only
BACKFILL_SHARE = 10


class DayFirst(PriorityWeightStrategy):
    """The task's own weight, and a tenth of it in a run of `airflow backfill create`."""

    def get_weight(self, ti: "TaskInstance") -> int:
        weight = int(ti.task.priority_weight) if ti.task else 1
        return weight // BACKFILL_SHARE if (ti.run_id or "").startswith("backfill__") else weight
