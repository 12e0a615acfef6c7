"""The table run_metrics: what the reports of a run say, as rows that can be asked and drawn."""

import datetime as dt
from collections.abc import Iterable, Mapping

from winnow.jobs.report import RunReport
from winnow.tables import Tables, Transaction, contract

Metrics = Mapping[tuple[str, str], float]  # by job and metric


def metrics_of(reports: Iterable[RunReport]) -> Metrics:
    """Returns counts and seconds; those of a job that ran several times in one run are added up.

    >>> metrics_of([RunReport("publish_matches", {"published": 3}), RunReport("publish_matches", {"published": 4})])
    {('publish_matches', 'published'): 7.0}
    """
    values: dict[tuple[str, str], float] = {}
    for report in reports:
        seconds = {f"seconds: {name}": value for name, value in report.seconds.items()}
        for name, value in {**report.counts, **seconds}.items():
            values[report.job, name] = values.get((report.job, name), 0.0) + value
    return values


def write_run_metrics(tables: Tables, run_id: str, date: dt.date, reports: Iterable[RunReport]) -> None:
    """Appends the metrics of some jobs of a run, once; nothing is written where none of them had anything to do."""
    reports = list(reports)
    metrics = metrics_of(reports)
    if not metrics or all(report.is_idle for report in reports):
        return
    rows = [(run_id, job, metric, value, date) for (job, metric), value in metrics.items()]
    jobs = "+".join(sorted({job for job, _ in metrics}))
    frame = tables.spark.createDataFrame(rows, contract("run_metrics").row_type).coalesce(1)
    tables.append("run_metrics", frame, Transaction(f"run_metrics/{run_id}/{date}/{jobs}"))
