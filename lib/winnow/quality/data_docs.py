"""Data Docs: what Great Expectations renders of an audit, as one page that needs no network and runs no script.

Its own pages pull styles, fonts and scripts from elsewhere, and an image that tells its maker of each look. So what it
renders is kept, and everything around it is left out.
"""

import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from winnow.spark.places import Place
from winnow.tables import Lake
from winnow.tables.filesystems import filesystem_of

if TYPE_CHECKING:
    from winnow.quality.validation import Validation

MAX_PAGES = 200  # the oldest go first
_PREFIX = "quality-"
_ACTIVE = re.compile(
    r"<(script|footer)\b.*?</\1\s*>|<(link|img|iframe|form|input)\b[^>]*>|\son\w+=\"[^\"]*\"", re.S | re.I
)
_SECTIONS = re.compile(r'<div id="section-\d+" class="ge-section.*(?=</body>)', re.S)
_LINK = re.compile(r"<a\b[^>]*>(.*?)</a>", re.S)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def write_data_docs(lake: Lake, date: str, run_id: str, validations: "Sequence[Validation]") -> str:
    """Writes the page of an audit beside the reports, also as the newest one of its date; returns its name."""
    folder = _pages(lake)
    name = page_name(date, run_id)
    content = page(f"{date} · run {run_id}", validations).encode()
    for own in (name, newest_page_name(date)):
        with folder.open_output(own) as stream:
            stream.write(content)
    remove_oldest(folder, MAX_PAGES)
    return name


def remove_pages(lake: Lake) -> int:
    """Removes all pages beside the tables, which quote values and documents; returns how many."""
    import pyarrow.fs as pafs

    folder = _pages(lake)
    filesystem, path = filesystem_of(folder.uri, folder.options)
    found = filesystem.get_file_info(pafs.FileSelector(path, allow_not_found=True, recursive=True))
    files = [info.path for info in found if info.is_file]
    for file in files:
        filesystem.delete_file(file)
    return len(files)


def _pages(lake: Lake) -> Place:
    return Place(lake.report_location, lake.filesystem_options)


def page_name(date: str, run_id: str) -> str:
    """
    >>> page_name("2026-11-16", "manual/1")
    'quality-2026-11-16-manual-1.html'
    """
    return f"{_PREFIX}{date}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', run_id)}.html"


def newest_page_name(date: str) -> str:
    """
    >>> newest_page_name("2026-11-16")
    'quality-2026-11-16.html'
    """
    return f"{_PREFIX}{date}.html"


def page(title: str, validations: "Sequence[Validation]") -> str:
    """Returns all suites of an audit on one page."""
    from great_expectations.render.renderer import ValidationResultsPageRenderer
    from great_expectations.render.view import DefaultJinjaPageView

    listed, sections = [], []
    for validation in validations:
        failed = sum(not verdict.success for verdict in validation.verdicts)
        mark = f'<b class="text-danger">{failed} failed</b>' if failed else '<span class="text-success">met</span>'
        listed.append(
            f'<li><a href="#{validation.suite}">{validation.suite}</a> {mark} of {len(validation.verdicts)}</li>'
        )
        content = DefaultJinjaPageView().render(ValidationResultsPageRenderer().render(validation.result))
        sections.append(f'<section id="{validation.suite}"><h2>{validation.suite}</h2>{passive(content)}</section>')
    style = resources.files(__package__).joinpath("data_docs.css").read_text()
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><link rel="icon" href="data:,">'
        f"<title>Data Docs · {escape(title)}</title><style>{style}</style></head><body><main>"
        f"<h1>Data Docs <small>{escape(title)}</small></h1><ul>{''.join(listed)}</ul>{''.join(sections)}"
        "</main></body></html>\n"
    )


def passive(content: str) -> str:
    """Returns the sections of a page without anything that is loaded or run.

    >>> passive('<div id="section-1" class="ge-section"><script src="x"></script><a href="y">z</a></div></body>')
    '<div id="section-1" class="ge-section">z</div>'
    """
    found = _SECTIONS.search(_ACTIVE.sub("", content))
    return _LINK.sub(r"\1", found[0]) if found else ""


def remove_oldest(folder: Place, keep: int) -> None:
    """Keeps the newest pages of a folder."""
    import pyarrow.fs as pafs

    filesystem, path = filesystem_of(folder.uri, folder.options)
    pages = [
        info
        for info in filesystem.get_file_info(pafs.FileSelector(path))
        if info.is_file and info.base_name.startswith(_PREFIX)
    ]
    for info in sorted(pages, key=lambda info: (info.mtime, info.base_name))[: max(len(pages) - keep, 0)]:
        filesystem.delete_file(info.path)
