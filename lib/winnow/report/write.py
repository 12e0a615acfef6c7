"""Writes pages: `<lake>/_reports/<date>.html` is the newest, and one is kept for each run."""

import datetime as dt
import re

from winnow.report.facts import gather
from winnow.report.page import render
from winnow.spark.places import Place
from winnow.tables.lake import Lake


def write(lake: Lake, date: dt.date, run_id: str | None = None) -> str:
    """Writes the page of a run; returns its place."""
    facts = gather(lake, date, run_id)
    page = render(facts).encode()
    run = re.sub(r"[^A-Za-z0-9_.-]+", "-", facts.run_id)
    reports = Place(f"{lake.location}/_reports", lake.filesystem_options)
    for name in (f"{date}.html", f"{date}-{run}.html"):
        with reports.open_output(name) as stream:
            stream.write(page)
    return f"{reports.uri}/{date}-{run}.html"
