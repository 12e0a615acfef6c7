"""Where pages go: `<lake>/_reports/<date>.html`, the newest, and one that is kept for each run."""

import datetime as dt
import re

from winnow.lake.parts import filesystem
from winnow.report.facts import gather
from winnow.report.page import render


def write(lake: str, date: dt.date, run_id: str | None = None) -> str:
    """The place of the page of this run."""
    facts = gather(lake, date, run_id)
    page = render(facts).encode()
    run = re.sub(r"[^A-Za-z0-9_.-]+", "-", facts.run_id)
    files, root = filesystem(f"{lake}/_reports")
    files.create_dir(root, recursive=True)
    for name in (f"{date}.html", f"{date}-{run}.html"):
        with files.open_output_stream(f"{root}/{name}") as stream:
            stream.write(page)
    return f"{lake}/_reports/{date}-{run}.html"
