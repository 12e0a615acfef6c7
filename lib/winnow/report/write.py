"""Writes pages beside the tables: the report of a date, what it links to, and the index of all dates.

`<lake>/_reports/<date>.html` is the newest page of a date, and one is kept for each run.
"""

import datetime as dt
import re

from winnow.report.details import INDEX, index, page_of, quarantine, results
from winnow.report.facts import BY_HAND, SchedulerFacts
from winnow.report.gather import gather
from winnow.report.page import render, render_rows
from winnow.report.queries import LakeQueries
from winnow.spark.places import Place
from winnow.tables.lake import Lake


def write(lake: Lake, date: dt.date, run_id: str | None = None, scheduler: SchedulerFacts = BY_HAND) -> str:
    """Writes the page of a date and of one of its runs, and the pages of rows that it links to; returns its place."""
    facts = gather(lake, date, run_id, scheduler)
    queries = LakeQueries(lake)
    content = render(facts)
    names = [page_of(date)]
    if run := facts.run:
        names.append(f"{date}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', run.run_id)}.html")
    pages = dict.fromkeys(names, content)
    pages |= {page.name: render_rows(page) for page in (quarantine(queries, date), results(queries, date))}
    return f"{_write(lake, pages)}/{names[-1]}"


def write_index(lake: Lake) -> str:
    """Writes the index of all dates; returns its place."""
    page = index(LakeQueries(lake))
    return f"{_write(lake, {INDEX: render_rows(page)})}/{INDEX}"


def _write(lake: Lake, pages: dict[str, str]) -> str:
    place = Place(lake.report_location, lake.filesystem_options)
    for name, content in pages.items():
        with place.open_output(name) as stream:
            stream.write(content.encode())
    return place.uri
