"""What is opened is what was listed: nothing that took its place since, and nothing outside of the given place."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingest.archives import items, outcome
from winnow.ingest.read import Item, read_file
from winnow.ingest.sources import File, list_files


@contextmanager
def within(seconds: int) -> Iterator[None]:
    def fail(*_: object) -> None:
        raise AssertionError(f"still waiting after {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read(files: list[File]) -> list[Item]:
    with within(20):
        return [item for file in files for item in read_file(file, record_tag=None, max_bytes=10_000)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A given place with a folder and two files, beside a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.xml").write_bytes(b"<secret/>")
    (tmp_path / "in" / "sub").mkdir(parents=True)
    (tmp_path / "in" / "sub" / "a.xml").write_bytes(b"<a/>")
    (tmp_path / "in" / "z.xml").write_bytes(b"<z/>")
    return tmp_path / "in"


def _link(path: Path) -> None:
    path.symlink_to(path.parents[2] / "outside" / "a.xml")


SWAPS: dict[str, Callable[[Path], object]] = {
    "link": _link,
    "link to a sibling": lambda path: path.symlink_to("../z.xml"),
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "pipe": os.mkfifo,
    "directory": Path.mkdir,
    "nothing": lambda path: None,
}


@pytest.mark.parametrize("swap", SWAPS)
@pytest.mark.parametrize("suffix", ["xml", "xml.gz", "tar", "zip"])
def test_what_took_the_place_of_a_file_is_not_read(place: Path, swap: str, suffix: str) -> None:
    path = (place / "sub" / "a.xml").rename(place / "sub" / f"a.{suffix}")
    files = list(list_files([str(place)]))
    path.unlink()
    SWAPS[swap](path)
    first, second = read(files)
    assert outcome(first) == (path.name, "unreadable")
    assert first.refused is not None
    assert first.refused.message
    assert outcome(second) == ("z.xml", b"<z/>")


@pytest.mark.parametrize("given", ["in", "in/sub", "in/sub/*.xml", "in/**/a.xml", "file"])
def test_a_folder_that_became_a_link_is_not_followed(place: Path, given: str) -> None:
    given = f"file://{place}" if given == "file" else str(place.parent / given)
    files = [file for file in list_files([given]) if file.path.endswith("a.xml")]
    shutil.rmtree(place / "sub")
    (place / "sub").symlink_to("../outside")
    assert [outcome(item) for item in read(files)] == [("a.xml", "unreadable")]


def test_a_link_that_is_turned_after_listing_leads_where_it_led(place: Path) -> None:
    (place / "link.xml").symlink_to("sub/a.xml")
    files = list(list_files([str(place)]))
    (place / "link.xml").unlink()
    (place / "link.xml").symlink_to("../outside/a.xml")
    assert dict(outcome(item) for item in read(files))["link.xml"] == b"<a/>"


def test_links_inside_the_given_place_are_read_however_it_is_given(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "link.xml").symlink_to("sub/a.xml")
    (place / "turn.xml").symlink_to(place / "sub" / ".." / "link.xml")
    (place.parent / "given").symlink_to(place)
    expected = {"a.xml": b"<a/>", "link.xml": b"<a/>", "turn.xml": b"<a/>", "z.xml": b"<z/>"}
    monkeypatch.chdir(place)
    for given in (".", "../given", "../in/sub/..", str(place), "**/*.xml", "../given/**/*.xml", f"file://{place}"):
        found = items(Path(given)) if "://" not in given else read(list(list_files([given])))
        assert dict(outcome(item) for item in found) == expected, given
    (place.parent / "one.xml").symlink_to(place / "link.xml")
    assert [outcome(item) for item in items(place.parent / "one.xml")] == [("one.xml", b"<a/>")]


@pytest.mark.parametrize("given", ["{}", "{}/*", "{}/**/*.xml", "file://{}"])
def test_links_out_of_the_given_place_and_pipes_are_items_however_it_is_given(place: Path, given: str) -> None:
    (place / "link.xml").symlink_to("../outside/a.xml")
    (place / "folder.xml").symlink_to("../outside")
    os.mkfifo(place / "pipe.xml")
    found = dict(outcome(item) for item in read(list(list_files([given.format(place)]))))
    assert found.pop("pipe.xml") == "unreadable"
    assert found.pop("link.xml") == found.pop("folder.xml") == "outside_root"
    assert b"<secret/>" not in found.values()


def test_no_file_stays_open(place: Path) -> None:
    files = list(list_files([str(place)]))
    (place / "z.xml").unlink()
    os.mkfifo(place / "z.xml")
    before = len(list(Path("/proc/self/fd").iterdir()))
    read(files)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
