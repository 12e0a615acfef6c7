"""The run report: whole by itself, safe with any label, and readable in a browser."""

import datetime as dt
import shutil
import subprocess
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from lxml import html

from winnow.report.details import Cell, RowsPage
from winnow.report.facts import BY_HAND, Bar, Check, Facts, SchedulerFacts, Trend
from winnow.report.page import render, render_rows

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def facts() -> Facts:
    dates = [f"2026-11-{day:02d}" for day in range(3, 17)]
    return Facts(
        date=dt.date(2026, 11, 16),
        verdict="warned",
        sentences=["Published 2026-11-17 00:04 UTC by run scheduled__2026-11-16."],
        run=None,
        scheduler=SchedulerFacts("scheduled__2026-11-16", "http://127.0.0.1:8080/runs/x", (("audit[0]", "success"),)),
        headline=[Bar("documents", 1_000_000), Bar("quarantined", 128), Bar("matches", 20_000_000, "20.0 a document")],
        funnel=[Bar("read", 1_000_128), Bar("accepted", 1_000_000, "128 quarantined"), Bar("matched", 912_000)],
        pruning=[Bar("documents × profiles", 1e12), Bar("candidates", 2.1e7), Bar("matches", 2e7)],
        seconds=[Bar("match_documents · match", 612.4), Bar("publish_matches · publish", 3.1)],
        profiles=[Bar(EVIL, 9000, "9,000 documents"), Bar("p2", 10)],
        destinations=[Bar("desk/1", 12)],
        quarantine=[Bar("malformed", 100), Bar("too_deep", 28)],
        undecided=[],
        quality=[
            Check("keys_unique", "matches_staged", "critical", True, "0 duplicates", 0.5),
            Check("volume", "matches_staged", "warning", False, "20.0 matches a document, usually 12.1", 1.25),
        ],
        trends=[Trend("matches", dates, [float(value * value) for value in range(14)]), Trend("none", [], [])],
        common=[Bar("@lang = en", 99.5, "995 of 1,000 nodes"), Bar(f"note = {EVIL}", 12)],
        rare=[Bar("author = Smith", 40_000, "2 of 80,000 nodes")],
        sampled=1000,
        data_docs="quality-2026-11-16-r.html",
    )


def test_the_page_needs_nothing_from_outside(facts: Facts) -> None:
    page = render(facts)
    tree = html.fromstring(page)
    assert not tree.xpath("//script | //img | //iframe | //object")
    addresses = [value for element in tree.iter() for name, value in element.items() if name in {"src", "href"}]
    rows = "results-2026-11-16.html"
    beside = ["index.html", "quality-2026-11-16-r.html", "quarantine-2026-11-16.html", rows]
    gate = ["quality-2026-11-16-r.html", rows]
    assert addresses == ["data:,", *beside, "http://127.0.0.1:8080/runs/x", *gate]
    assert "url(" not in page
    assert "@import" not in page


def test_labels_are_text(facts: Facts) -> None:
    page = render(facts)
    assert EVIL not in page
    assert EVIL in html.fromstring(page).text_content()


def test_the_page_says_what_the_facts_say(facts: Facts) -> None:
    words = " ".join(html.fromstring(render(facts)).text_content().split())
    for text in ("2026-11-16", "warned", "1,000,000", "128 quarantined", "612.4", "malformed", "usually 12.1"):
        assert text in words
    assert "sample of 1,000 documents" in words
    assert "2 of 80,000 nodes" in words
    assert "audit[0]" in words
    empty = Facts(facts.date, "not answered", [], None, BY_HAND, *([] for _ in range(12)), 0)
    assert "Nothing was refused." in render(empty)
    assert "Rare values" not in render(empty)


def test_rows_are_text_and_link_only_beside() -> None:
    row = (Cell("2026-11-16", "2026-11-16.html"), Cell("failed", tag="failed"), Cell(EVIL))
    page = render_rows(RowsPage("index.html", "All dates", EVIL, ("date", "gate", "source"), [row]))
    assert EVIL not in page
    tree = html.fromstring(page)
    assert tree.xpath("//td/a/@href") == ["2026-11-16.html"]
    assert tree.xpath("//td/span[@class='tag failed']/text()") == ["failed"]
    assert tree.xpath("//td[3]/text()") == [EVIL]


def test_a_browser_shows_it(facts: Facts, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium on this machine: `apt-get install chromium` lets the report be opened")
    (tmp_path / "page.html").write_text(render(facts))
    done = subprocess.run(
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            *(f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1200,1700", "--enable-logging=stderr"),
            *("--host-resolver-rules=MAP * ~NOTFOUND", f"--screenshot={tmp_path / 'page.png'}"),
            (tmp_path / "page.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr, done.stderr  # a refused request would be told there, too
    image = matplotlib.image.imread(tmp_path / "page.png")[..., :3]
    assert image.shape[:2] == (1700, 1200)
    assert len(np.unique((image * 255).astype(np.uint8).reshape(-1, 3), axis=0)) > 100  # drawn, not blank
