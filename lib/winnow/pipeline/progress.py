"""Progress of Spark jobs: rows so far, rate, tasks. Read from Spark's live metrics, so it works on any master."""

import sys
import threading
from types import TracebackType
from typing import Any

from pyspark.sql import SparkSession
from tqdm import tqdm

POLL_SECONDS = 0.5
LOG_SECONDS = 15.0  # between lines where the output is a log, not a terminal


class Progress:
    """Shows the rows of the newest Spark execution while a block runs; quiet when the block is over in two seconds."""

    def __init__(self, spark: SparkSession, what: str, *, unit: str = "rows") -> None:
        self._spark = spark
        self._bar = tqdm(
            desc=what,
            unit=f" {unit}",
            unit_scale=True,
            delay=2.0,
            mininterval=POLL_SECONDS if sys.stderr.isatty() else LOG_SECONDS,
        )
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._since = self._newest() + 1

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self._bar.close()

    def _store(self) -> Any:
        return self._spark._jsparkSession.sharedState().statusStore()

    def _newest(self) -> int:
        count = self._store().executionsCount()
        return int(count) - 1

    def _watch(self) -> None:
        while not self._done.wait(POLL_SECONDS):
            rows = self._rows()
            if rows > self._bar.n:
                self._bar.update(rows - self._bar.n)
            tracker = self._spark.sparkContext.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            tasks = [f"{stage.numCompletedTasks}/{stage.numTasks} tasks" for stage in stages if stage is not None]
            self._bar.set_postfix_str(", ".join(tasks), refresh=False)

    def _rows(self) -> int:
        store, most = self._store(), 0
        executions = store.executionsList()
        for index in range(executions.size()):
            execution = executions.apply(index)
            if execution.executionId() < self._since:
                continue
            values = store.executionMetrics(execution.executionId())
            metrics = execution.metrics().iterator()
            while metrics.hasNext():
                metric = metrics.next()
                value = values.get(metric.accumulatorId())
                if metric.name() == "number of output rows" and value.isDefined():
                    most = max(most, int(value.get().replace(",", "")))
        return most
