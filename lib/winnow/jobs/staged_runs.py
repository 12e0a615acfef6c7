"""Runs that have staged answers which are not published yet: what an audit and a publication are about."""

import datetime as dt

from pyspark.sql import functions as sf

from winnow.errors import DataError
from winnow.ledger import Outcome, Run, unfinished
from winnow.tables import Tables
from winnow.tables.small import read_small

MAX_ROWS = 100_000  # of runs, over all dates


def unpublished(tables: Tables) -> dict[dt.date, str]:
    """Returns, for each date with answers staged on its newest publication, the newest run that staged some."""
    if not tables.exists("runs"):
        return {}
    names = ("match_date", "run_id", "outcome", "base_run", "batches", "revision", "only", "planned_at")
    rows = read_small(tables.read("runs").select(*names).orderBy("planned_at"), MAX_ROWS)
    by_date: dict[dt.date, list[Run]] = {}
    for row in rows:
        by_date.setdefault(row["match_date"], []).append(Run.of(row.asDict()))
    return {date: open_runs[-1].run_id for date, runs in by_date.items() if (open_runs := unfinished(runs))}


def newest_run(tables: Tables, date: dt.date) -> str:
    """Returns the run that staged answers of a date last, published or not.

    Raises:
        DataError: there is none.
    """
    tables.create("runs")
    of_date = tables.read("runs").where((sf.col("match_date") == sf.lit(date)) & (sf.col("outcome") != Outcome.REFUSED))
    for row in read_small(of_date.orderBy(sf.desc("planned_at")).select("run_id").limit(1)):
        return str(row["run_id"])
    raise DataError("nothing_staged", f"no run has staged answers of {date}", hint="match the date first")
