"""However a file is packed, no more comes out of it than its size allows; what comes before that is given."""

import gzip
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.archives import items, outcome, tar_bytes, tar_member, zip_bytes
from winnow.ingest.accept import DEFAULT_LIMITS
from winnow.ingest.expansion import DEFAULT_EXPANSION, Bound, ExpansionLimits
from winnow.ingest.read import read_file
from winnow.ingest.sources import list_files
from winnow.ingest.zip import overlapping_members

MEGABYTE = 1 << 20
DOCUMENT = b"<r>" + b" " * (MEGABYTE - 7) + b"</r>"
DOCUMENTS = 100  # more than what a small file may become
CONTAINER = b"<s>" + DOCUMENT * DOCUMENTS + b"</s>"


def _names(suffix: str = "") -> list[str]:
    return [f"{number}.xml{suffix}" for number in range(DOCUMENTS)]


def _plain_tar(members: dict[str, bytes]) -> bytes:
    return gzip.decompress(tar_bytes(members))


BOMBS: dict[str, tuple[Callable[[], bytes], str | None]] = {
    "documents.zip": (lambda: zip_bytes([(name, DOCUMENT) for name in _names()]), None),
    "documents.tar.gz": (lambda: tar_bytes(dict.fromkeys(_names(), DOCUMENT)), None),
    "gz-members.tar": (lambda: _plain_tar(dict.fromkeys(_names(".gz"), gzip.compress(DOCUMENT))), None),
    "gz-members.tar.gz": (lambda: tar_bytes(dict.fromkeys(_names(".gz"), gzip.compress(DOCUMENT))), None),
    "gz-members.zip": (lambda: zip_bytes([(name, gzip.compress(DOCUMENT)) for name in _names(".gz")]), None),
    "container.xml.gz": (lambda: gzip.compress(CONTAINER), "r"),
    "container.zip": (lambda: zip_bytes([("container.xml", CONTAINER)]), "r"),
    "container.tar.gz": (lambda: tar_bytes({"container.xml.gz": gzip.compress(CONTAINER)}), "r"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_every_kind_of_file_stops_at_the_same_bound_and_the_next_is_read(tmp_path: Path, name: str) -> None:
    make, record_tag = BOMBS[name]
    (tmp_path / name).write_bytes(make())
    (tmp_path / "next.xml").write_bytes(b"<r/>")
    allowed = DEFAULT_EXPANSION.unpacked.allowed((tmp_path / name).stat().st_size)
    found = [
        (Path(item.place.source).name, len(item.content), item.refused)
        for file in list_files([str(tmp_path)])
        for item in read_file(file, record_tag=record_tag, max_bytes=DEFAULT_LIMITS.max_bytes)
    ]
    *given_items, (_, _, refused), last = found
    assert refused is not None
    assert refused.reason == "archive_bomb"
    assert "--max-expansion" in refused.message
    assert last == ("next.xml", 4, None)
    assert {(source, size) for source, size, _ in given_items} == {(name, MEGABYTE)}
    assert allowed - 3 * MEGABYTE < len(given_items) * MEGABYTE <= allowed


def test_what_records_inherit_is_counted(tmp_path: Path) -> None:
    """Namespaces of a container's root are written into each of its records: their product may be anything."""
    namespaces = b" ".join(b"xmlns:p%d='u'" % number for number in range(10_000))
    (tmp_path / "a.xml").write_bytes(b"<s " + namespaces + b">" + b"<r/>" * 10_000 + b"</s>")
    (tmp_path / "b.xml").write_bytes(b"<s><r/></s>")
    allowed = DEFAULT_EXPANSION.unpacked.allowed((tmp_path / "a.xml").stat().st_size)
    *records, refused, last = items(tmp_path, record_tag="r", max_bytes=MEGABYTE)
    assert outcome(refused) == ("a.xml", "archive_bomb")
    assert outcome(last) == ("b.xml", b"<r/>")
    inherited = len(namespaces) + 1
    assert {len(item.content) for item in records} == {inherited + len(b"<r/>")}
    assert len(records) == allowed // inherited


def _limited(*, unpacked: int = 1 << 40, members: int = 1 << 40, zip_directory: int = 1 << 40) -> ExpansionLimits:
    return DEFAULT_EXPANSION._replace(
        unpacked=Bound(0, unpacked, unpacked), members=Bound(0, members, members), zip_directory=zip_directory
    )


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=12), st.integers(0, 20_000))
def test_all_that_ends_before_the_bound_is_given(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], bound: int
) -> None:
    folder = tmp_path_factory.mktemp("bound")
    documents = [b"<r>" + b"x" * size + b"</r>" for size in sizes]
    archive = b"".join(tar_member(b"m", b"%011o\0" % len(content), b"0", content) for content in documents)
    (folder / "a.tar.gz").write_bytes(gzip.compress(archive + bytes(1024)))
    (folder / "b.xml.gz").write_bytes(gzip.compress(b"<s>" + b"".join(documents) + b"</s>"))
    for name, record_tag, head, tail, whole in (
        ("a.tar.gz", None, 512, 512, len(archive) + 1024),
        ("b.xml.gz", "r", 0, 1, sum(map(len, documents)) + 7),
    ):
        ends, at = [], 3 if record_tag else 0
        for content in documents:
            ends.append(at + head + len(content))
            at = ends[-1] + -ends[-1] % tail
        expected: list[str | bytes] = [content for content, end in zip(documents, ends, strict=True) if end <= bound]
        found = items(folder / name, record_tag=record_tag, expansion=_limited(unpacked=bound))
        assert [outcome(item)[1] for item in found] == expected + ["archive_bomb"] * (bound < whole)


def test_members_and_records_are_counted(tmp_path: Path) -> None:
    names = [f"{number}.xml" for number in range(5)]
    (tmp_path / "a.tar.gz").write_bytes(tar_bytes(dict.fromkeys(names, b"<a/>")))
    (tmp_path / "b.zip").write_bytes(zip_bytes([(name, b"<a/>") for name in names]))
    expected = [*((name, b"<a/>") for name in names[:3]), ("3.xml", "archive_bomb")]
    assert [outcome(item) for item in items(tmp_path, expansion=_limited(members=3))] == expected * 2
    (tmp_path / "c.xml").write_bytes(b"<s>" + b"<a/>" * 5 + b"</s>")
    found = items(tmp_path / "c.xml", record_tag="a", expansion=_limited(members=3))
    assert [outcome(item)[1] for item in found] == [b"<a/>"] * 3 + ["archive_bomb"]


def test_a_plain_container_is_never_too_many_records() -> None:
    assert all(DEFAULT_EXPANSION.members.allowed(len(b"<r/>") * count) >= count for count in (1, 10**6, 10**7, 10**8))


def test_a_huge_zip_directory_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes([(f"{number:08}.xml", b"") for number in range(8000)]))
    (tmp_path / "b.xml").write_bytes(b"<b/>")
    found = items(tmp_path, expansion=_limited(zip_directory=400_000))
    assert [outcome(item) for item in found] == [("a.zip", "archive_bomb"), ("b.xml", b"<b/>")]
    assert found[0].refused is not None
    assert "directory of 464000 bytes" in found[0].refused.message


def _with_directory(local: bytes, directory: list[bytes]) -> bytes:
    entries = b"".join(directory)
    counts = (len(directory), len(directory), len(entries), len(local))
    return local + entries + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, *counts, 0)


def _directory_of(archive: bytes) -> tuple[bytes, bytes]:
    """The bytes of the members, and the directory."""
    size, offset = struct.unpack("<2L", archive[-10:-2])
    return archive[:offset], archive[offset : offset + size]


def test_zip_members_that_share_their_bytes_are_refused_one_by_one(tmp_path: Path) -> None:
    local, entry = _directory_of(zip_bytes([("a.xml", DOCUMENT)]))
    other, other_entry = _directory_of(zip_bytes([("b.xml", b"<b/>")]))
    moved = other_entry[:42] + struct.pack("<L", len(local)) + other_entry[46:]
    (tmp_path / "a.zip").write_bytes(_with_directory(local + other, [entry] * 2000 + [moved]))
    found = [outcome(item) for item in items(tmp_path, max_bytes=2 * MEGABYTE)]
    assert found == [("a.xml", "archive_bomb")] * 2000 + [("b.xml", b"<b/>")]


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 100)), max_size=12))
def test_overlaps_are_found_as_by_comparing_all_pairs(places: list[tuple[int, int]]) -> None:
    members = []
    for offset, size in places:
        info = zipfile.ZipInfo("m")
        info.header_offset, info.compress_size = offset, size
        members.append(info)
    spans = [range(offset, offset + 30 + size) for offset, size in places]
    assert overlapping_members(members) == {
        k for k, span in enumerate(spans) for n, other in enumerate(spans) if k != n and other.start in span
    }


def test_a_zip_that_states_a_wrong_size_is_counted_by_what_comes_out(tmp_path: Path) -> None:
    local, directory = _directory_of(zip_bytes([("a.xml", DOCUMENT), ("b.xml", b"<b/>")]))
    for name, stated in (("small.zip", 10), ("too-large.zip", (1 << 32) - 2)):
        lie = directory[:24] + struct.pack("<L", stated) + directory[28:]
        (tmp_path / name).write_bytes(_with_directory(local, [lie]))
    found = items(tmp_path, max_bytes=2 * MEGABYTE)
    assert [outcome(item) for item in found] == [
        ("a.xml", "corrupt_archive"),
        ("b.xml", b"<b/>"),
        ("a.xml", DOCUMENT),
        ("b.xml", b"<b/>"),
    ]


def test_each_file_has_a_budget_of_its_own(tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        (tmp_path / name).write_bytes(zip_bytes([("a.xml", b"<a/>"), ("b.xml", b"<b/>")]))
    assert [outcome(item)[1] for item in items(tmp_path, expansion=_limited(unpacked=8))] == [b"<a/>", b"<b/>"] * 2
