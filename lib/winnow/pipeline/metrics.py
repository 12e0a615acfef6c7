"""The table run_metrics: what the reports of a run say, as rows."""

import datetime as dt

import pyarrow as pa

from winnow.jobs.report import RunReport
from winnow.lake.locks import table_lock
from winnow.lake.store import commit_parts, ensure_tables, read_rows, write_rows


def keep_metrics(lake: str, run_id: str, date: dt.date, reports: list[RunReport]) -> None:
    """The funnel and the seconds of every job; of a run over several dates under the last of them."""
    values: dict[tuple[str, str], float] = {}
    for report in reports:
        for name, number in [*report.counts.items(), *((f"seconds: {k}", v) for k, v in report.seconds.items())]:
            values[report.job, name] = values.get((report.job, name), 0.0) + number
    if not values:
        return
    rows = pa.table(
        {
            "run_id": [run_id] * len(values),
            "job": [job for job, _ in values],
            "metric": [metric for _, metric in values],
            "value": pa.array(list(values.values()), pa.float64()),
        }
    )
    partition = {"match_date": date}
    ensure_tables(lake, ("run_metrics",))
    with table_lock(lake, "run_metrics"):
        known = read_rows(lake, "run_metrics", rows.column_names, where=partition)
        kept = known.join(rows, ["run_id", "job", "metric"], join_type="left anti")
        parts = write_rows(lake, "run_metrics", pa.concat_tables([kept.cast(rows.schema), rows]), partition)
        commit_parts(lake, "run_metrics", parts, partition, {"job": "run", "run_id": run_id}, replace=True)
