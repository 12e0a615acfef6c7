"""Data Docs are readable without a network, whatever words the data brings, and do not pile up."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from lxml import html

from jobs.slow import nightly
from quality.gate_lake import GateLake
from winnow.jobs import audit_matches
from winnow.jobs.publish_matches import staged_run
from winnow.quality.data_docs import page, remove_oldest
from winnow.quality.suites import suite_files
from winnow.quality.validation import validate
from winnow.spark.places import Place

pytestmark = pytest.mark.spark
EVIL = "<script>alert(1)</script>"


@pytest.fixture
def evil_page(ready: GateLake) -> str:
    """Of a failed suite whose examples are hostile."""
    ready.restage(witnesses=f"transform(witnesses, w -> '{EVIL}')", document_id=f"concat(document_id, '{EVIL}')")
    ready.tables.create("matches")
    row = staged_run(ready.tables, ready.config.date, ready.run_id)
    run = audit_matches.audited_run(ready.tables, row, sample=10, seed=0)
    suites = {"matches_staged": suite_files()["matches_staged"]}
    return page(f"run {EVIL}", validate(run, audit_matches.frames(run), suites))


def test_examples_are_text(evil_page: str) -> None:
    assert EVIL not in evil_page
    tree = html.fromstring(evil_page)
    assert EVIL in tree.text_content()
    assert not tree.xpath("//script")


@nightly
def test_a_browser_shows_them_with_the_network_off(evil_page: str, tmp_path: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium on this machine: `apt-get install chromium` lets the page be opened")
    (tmp_path / "page.html").write_text(evil_page)
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom")
    done = subprocess.run(
        [browser, *flags, f"file://{tmp_path}/page.html"], capture_output=True, text=True, timeout=120, check=True
    )
    assert "Table-Level Expectations" in done.stdout
    assert "net::ERR" not in done.stderr


def test_only_the_newest_pages_stay(tmp_path: Path) -> None:
    for number in range(5):
        file = tmp_path / f"quality-{number}.html"
        file.write_text("")
        os.utime(file, (time.time() + number, time.time() + number))
    (tmp_path / "2026-11-16.html").write_text("")
    remove_oldest(Place(str(tmp_path)), 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["2026-11-16.html", "quality-3.html", "quality-4.html"]
