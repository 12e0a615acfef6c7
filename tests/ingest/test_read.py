"""Files, archives and containers: every member is an item, and a bad one does not stop its neighbours."""

import gzip
import os
import zipfile
from pathlib import Path

import pytest

from ingest.archives import items, outcome, tar_bytes, tar_member
from winnow.errors import UsageError
from winnow.ingest.accept import DEFAULT_LIMITS, Accepted, accept
from winnow.ingest.read import read_file
from winnow.ingest.sources import list_files, plan


def test_files_directories_globs_and_duplicated_arguments(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    (tmp_path / "sub" / "b.xml.gz").write_bytes(gzip.compress(b"<b/>"))
    expected = [("a.xml", b"<a/>"), ("b.xml.gz", b"<b/>")]
    assert [outcome(i) for i in items(tmp_path, tmp_path / "a.xml")] == expected
    assert [outcome(i) for i in items(tmp_path / "**" / "*.xml*")] == expected
    with pytest.raises(UsageError, match="nothing to read"):
        items(tmp_path / "none*")


def test_archives(tmp_path: Path) -> None:
    inner = tar_bytes({"x.xml": b"<x/>"})
    members = {"d/a.xml": b"<a/>", "b.xml.gz": gzip.compress(b"<b/>"), "c.tar.gz": inner, "big.xml": b"x" * 20_000}
    expected = [
        ("d/a.xml", b"<a/>"),
        ("b.xml.gz", b"<b/>"),
        ("c.tar.gz", "nested_archive"),
        ("big.xml", "oversized"),
    ]
    (tmp_path / "t.tar.gz").write_bytes(tar_bytes(members))
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    assert [outcome(i) for i in items(tmp_path / "t.tar.gz")] == expected
    assert [outcome(i) for i in items(tmp_path / "z.zip")] == expected


def test_a_truncated_archive_gives_what_it_holds_and_one_refusal(tmp_path: Path) -> None:
    members = {f"{n}.xml": b"<a>" + os.urandom(3000).hex().encode() + b"</a>" for n in range(6)}
    whole = tar_bytes(members)
    (tmp_path / "t.tar.gz").write_bytes(whole[: len(whole) // 2])
    found = [outcome(i) for i in items(tmp_path)]
    assert found[-1] == ("t.tar.gz", "corrupt_archive")
    assert [name for name, _ in found[:-1]] == list(members)[: len(found) - 1]
    assert len(found) > 2
    (tmp_path / "z.zip").write_bytes(b"PK\x03\x04 not really")
    assert outcome(items(tmp_path / "z.zip")[0]) == ("z.zip", "corrupt_archive")


def test_unreadable_files_and_links_out_of_the_directory_are_items(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret.xml").write_bytes(b"<secret/>")
    (inside / "leads-out.xml").symlink_to(outside / "secret.xml")
    (inside / "leads-nowhere.xml").symlink_to(inside / "gone.xml")
    (inside / "good.xml").write_bytes(b"<a/>")
    (inside / "good-link.xml").symlink_to(inside / "good.xml")
    os.mkfifo(inside / "pipe.xml")
    assert dict(outcome(i) for i in items(inside)) == {
        "leads-out.xml": "outside_root",
        "leads-nowhere.xml": "unreadable",
        "good.xml": b"<a/>",
        "good-link.xml": b"<a/>",
        "pipe.xml": "unreadable",
    }


def test_containers_in_every_form_and_encoding(tmp_path: Path) -> None:
    text = '<?xml version="1.0" encoding="{}"?><s><r>é1</r><r>2</r></s>'
    (tmp_path / "a.xml").write_text(text.format("UTF-8"), encoding="utf-8")
    (tmp_path / "b.xml").write_text(text.format("UTF-16"), encoding="utf-16")
    (tmp_path / "c.xml.gz").write_bytes(gzip.compress(text.format("ISO-8859-1").encode("latin-1")))
    (tmp_path / "d.tar.gz").write_bytes(tar_bytes({"m.xml": text.format("UTF-8").encode()}))
    (tmp_path / "e.xml").write_bytes(b"<s/>")
    (tmp_path / "f.xml").write_bytes(text.format("UTF-16").encode("utf-16")[:-5])
    found = items(tmp_path, record_tag="r")
    assert [outcome(i)[1] for i in found] == [
        *["<r>é1</r>".encode(), b"<r>2</r>"] * 4,
        "no_records",
        "<r>é1</r>".encode(),
        b"<r>2</r>",
        "invalid_encoding",
    ]
    assert [i.place.record for i in found[:2]] == [1, 2]


def test_a_file_uri_reads_like_a_path(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    found = list(list_files([f"file://{tmp_path}"]))
    assert [i.content for file in found for i in read_file(file, record_tag=None, max_bytes=99)] == [b"<a/>"]


def test_pieces_hold_every_file_once(tmp_path: Path) -> None:
    for n in range(600):
        (tmp_path / f"{n}.xml").write_bytes(b"<a/>")
    (tmp_path / "t.tar.gz").write_bytes(tar_bytes({"x.xml": b"<x/>"}))
    files = list(list_files([str(tmp_path)]))
    pieces = plan(files, containers=False)
    assert sorted(f for piece in pieces for f in piece.files) == sorted(files)
    assert max(len(piece.files) for piece in pieces) <= 256
    assert len(plan(files, containers=True)) == len(pieces)


@pytest.mark.parametrize(("name", "tag"), [("big.xml", "r"), ("big.tar", None)])
def test_shares_of_a_large_file_hold_every_item_once(tmp_path: Path, name: str, tag: str | None) -> None:
    """One record is refused, and the container breaks off: that is said once, too."""
    place = tmp_path / name
    texts = [b"<r>%d</r>" % n if n != 70 else b"<r><x></r>" for n in range(300)]
    members = {f"{n}.xml": text for n, text in enumerate(texts)}
    place.write_bytes(b"<all>" + b"".join(texts) if tag else gzip.decompress(tar_bytes(members))[: 300 * 1024 - 600])
    (file,) = list_files([str(place)])
    whole = list(read_file(file, record_tag=tag, max_bytes=99))
    pieces = plan([file._replace(size=400 << 20)], containers=tag is not None)
    shares = [
        [item for n, item in enumerate(read_file(piece.files[0], record_tag=tag, max_bytes=99)) if piece.takes(n)]
        for piece in pieces
    ]
    assert len(shares) == 3
    assert all(shares)
    assert sorted(item for share in shares for item in share) == sorted(whole)
    assert whole[-1].refused
    assert len(whole) in {300, 301}


@pytest.mark.parametrize(
    ("size", "kind", "body"),
    [
        (b"-0000000007\0", b"0", b""),
        (b"\x80" + b"\xff" * 11, b"0", b""),
        (b"\x80" + b"\xff" * 11, b"L", b""),
        (b"77777777777\0", b"x", b""),
        (b"00000000014\0", b"x", b"12 size=abc\n"),
        (b"00000000013\0", b"x", b"11 size=-4\n"),
        (b"00000011610\0", b"x", b"9" * 5000),
    ],
)
def test_a_damaged_tar_header_stops_its_archive_only(tmp_path: Path, size: bytes, kind: bytes, body: bytes) -> None:
    good = tar_member(b"good.xml", b"00000000004\0", b"0", b"<a/>")
    (tmp_path / "t.tar").write_bytes(good + tar_member(b"bad", size, kind, body) + good + bytes(1024))
    assert [outcome(i) for i in items(tmp_path)] == [("good.xml", b"<a/>"), ("t.tar", "corrupt_archive")]


def test_members_that_are_no_files_are_items_directories_are_not(tmp_path: Path) -> None:
    good = tar_member(b"good.xml", b"00000000004\0", b"7", b"<a/>")
    others = [tar_member(b"m" + kind, b"00000000000\0", kind) for kind in (b"1", b"2", b"3", b"5", b"6", b"S")]
    (tmp_path / "t.tar").write_bytes(b"".join([*others, good, bytes(1024)]))
    refused = [(f"m{kind}", "unreadable") for kind in "1236S"]
    assert [outcome(i) for i in items(tmp_path)] == [*refused, ("good.xml", b"<a/>")]


def test_an_archive_without_its_end_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(b"")
    (tmp_path / "b.tar").write_bytes(tar_member(b"good.xml", b"00000000004\0", b"0", b"<a/>"))
    assert [outcome(i) for i in items(tmp_path)] == [
        ("a.tar.gz", "corrupt_archive"),
        ("good.xml", b"<a/>"),
        ("b.tar", "corrupt_archive"),
    ]


def test_a_zip_with_a_damaged_name_ortar_member(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("é.xml", b"<a>" + bytes(range(32, 59)) * 9 + b"</a>")
    whole = (tmp_path / "a.zip").read_bytes()
    (tmp_path / "a.zip").write_bytes(whole.replace("é".encode(), b"\xff\xff"))
    (tmp_path / "b.zip").write_bytes(whole[:44] + b"\xff\xff\xff" + whole[47:])
    assert [outcome(i)[1] for i in items(tmp_path)] == ["corrupt_archive", "corrupt_archive"]


def test_gzip_members_behind_long_padding_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(b"<a>") + bytes(3 << 18) + gzip.compress(b"</a>") + bytes(9))
    assert [outcome(i) for i in items(tmp_path)] == [("a.xml.gz", b"<a></a>")]


def test_a_container_that_breaks_off_between_records_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<s>\n<r>1</r>\n<r>2</r>\n<r a='")
    found = items(tmp_path, record_tag="r")
    assert [outcome(i)[1] for i in found] == [b"<r>1</r>", b"<r>2</r>", "truncated_record"]
    assert found[-1].place.line == 4


def test_names_that_are_not_text_become_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.xml")).write_bytes(b"<a/>")
    members = [tar_member(name, b"00000000004\0", b"0", b"<a/>") for name in (b"\xfe.xml", b"\xfd.xml")]
    (tmp_path / os.fsdecode(b"\xfe.tar")).write_bytes(b"".join([*members, bytes(1024)]))
    assert sorted(outcome(i)[0] for i in items(tmp_path)) == [r"\xfd.xml", r"\xfe.xml", r"\xff.xml"]


@pytest.mark.parametrize(
    "bad", ['<r a="x<y">1</r>', '<r a="<x>1</x>"/>', "<r a=x<y>1</r>", '<r a="1>2</r>', "<r>1&2</r>", "<r><x>1</r>"]
)
def test_a_malformed_record_is_one_item_wherever_the_chunks_end(tmp_path: Path, bad: str) -> None:
    chunk = 64
    for offset in range(2 * chunk):
        before = f"<s>\n{' ' * offset}<r>1</r>"
        (tmp_path / "a.xml").write_text(f"{before}{bad}<r b='2'>3</r></s>")
        (file,) = list_files([str(tmp_path / "a.xml")])
        found = list(read_file(file, record_tag="r", max_bytes=10_000, chunk=chunk))
        assert [item.content for item in found] == [b"<r>1</r>", bad.encode(), b"<r b='2'>3</r>"]
        assert [isinstance(accept(item.content, DEFAULT_LIMITS), Accepted) for item in found] == [True, False, True]
        assert [item.place.record for item in found] == [1, 2, 3]


def test_a_record_without_an_end_is_refused_and_those_behind_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<s>\n<r>1</r>\n<r>2\n<r>3</r>\n</s>")
    found = items(tmp_path, record_tag="r")
    assert [outcome(i)[1] for i in found] == [b"<r>1</r>", "truncated_record", b"<r>3</r>"]
    assert (found[1].content, found[1].place.line, found[2].place.line) == (b"<r>2\n", 3, 4)
    assert found[1].refused is not None
    assert "no end tag for this <r>" in found[1].refused.message
