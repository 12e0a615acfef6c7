"""Every member of an archive is an item, whatever its type, its name and its neighbours; only directories are none."""

import gzip
import struct
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.archives import items, outcome, tar_bytes, tar_member, zip_bytes

SIZE = b"00000000004\0"
NO_SIZE = b"00000000000\0"
END = bytes(1024)


@given(st.lists(st.integers(0, 255).map(lambda flag: bytes([flag])), max_size=8))
def test_a_tar_gives_an_item_for_each_member_of_any_type(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("tar") / "t.tar"
    described = [b"0" if kind in b"LKxg" else kind for kind in kinds]
    path.write_bytes(
        b"".join(
            tar_member(b"%d.xml" % n, *((NO_SIZE, kind) if kind in b"123456" else (SIZE, kind, b"<a/>")))
            for n, kind in enumerate(described)
        )
        + END
    )
    expected = [
        (f"{n}.xml", b"<a/>" if kind in b"0\x007" else "unreadable") for n, kind in enumerate(described) if kind != b"5"
    ]
    found = items(path)
    assert [outcome(item) for item in found] == expected
    assert all(item.refused.message for item in found if item.refused)


@pytest.mark.parametrize("kind", [b"1", b"2", b"3", b"4", b"5", b"6"])
def test_the_size_of_a_link_device_or_directory_hides_no_member(tmp_path: Path, kind: bytes) -> None:
    hidden = tar_member(b"a.xml", SIZE, b"0", b"<a/>")
    (tmp_path / "t.tar").write_bytes(tar_member(b"m", b"%011o\0" % len(hidden), kind) + hidden + END)
    with tarfile.open(tmp_path / "t.tar") as archive:
        assert archive.getnames() == ["m", "a.xml"]
    assert outcome(items(tmp_path)[-1]) == ("a.xml", b"<a/>")


def test_directories_of_old_archives_are_no_members_but_files_of_such_a_name_are(tmp_path: Path) -> None:
    members = [
        tar_member(b"d/", NO_SIZE, b"\0"),
        tar_member(b"e/", SIZE, b"\0", b"<e/>"),
        tar_member(b"f/", SIZE, b"0", b"<f/>"),
    ]
    (tmp_path / "t.tar").write_bytes(b"".join(members) + END)
    (tmp_path / "z.zip").write_bytes(zip_bytes([("d/", b""), ("e/", b"<e/>")]))
    assert [outcome(item) for item in items(tmp_path)] == [("e/", b"<e/>"), ("f/", b"<f/>"), ("e/", b"<e/>")]


def test_the_map_of_a_sparse_file_is_not_taken_for_its_content(tmp_path: Path) -> None:
    header = bytearray(tar_member(b"s.xml", SIZE, b"S"))
    header[482] = 1
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    more, last = bytearray(512), bytearray(512)
    more[504] = 1
    sparse = bytes(header) + bytes(more) + bytes(last) + b"<s/>".ljust(512, b"\0")
    (tmp_path / "t.tar").write_bytes(sparse + tar_member(b"a.xml", SIZE, b"0", b"<a/>") + END)
    assert [outcome(item) for item in items(tmp_path)] == [("s.xml", "unreadable"), ("a.xml", b"<a/>")]


def test_what_follows_the_end_mark_of_a_tar_is_reported(tmp_path: Path) -> None:
    archive = tar_member(b"a.xml", SIZE, b"0", b"<a/>") + END
    (tmp_path / "joined.tar").write_bytes(archive + archive)
    (tmp_path / "padded.tar").write_bytes(archive + bytes(1 << 20))
    assert [outcome(item) for item in items(tmp_path)] == [
        ("a.xml", b"<a/>"),
        ("joined.tar", "corrupt_archive"),
        ("a.xml", b"<a/>"),
    ]


def test_a_tar_that_breaks_off_behind_the_content_of_a_member_gives_it(tmp_path: Path) -> None:
    (tmp_path / "t.tar").write_bytes(tar_member(b"a.xml", SIZE, b"0", b"<a/>")[:-9])
    assert [outcome(item) for item in items(tmp_path)] == [("a.xml", b"<a/>"), ("t.tar", "corrupt_archive")]


def test_many_pax_records_take_linear_time(tmp_path: Path) -> None:
    records = b"5 a=\n" * 200_000 + b"14 path=b.xml\n"
    pax = tar_member(b"p", b"%011o\0" % len(records), b"x", records)
    (tmp_path / "t.tar").write_bytes(pax + tar_member(b"a.xml", SIZE, b"0", b"<a/>") + END)
    began = time.process_time()
    assert [outcome(item) for item in items(tmp_path)] == [("b.xml", b"<a/>")]
    assert time.process_time() - began < 5


def test_members_of_the_same_name_and_without_a_name_are_all_given(tmp_path: Path) -> None:
    contents = [b"<a/>", b"<b/>", b"<c/>"]
    for suffix, members in (
        ("tar", b"".join(tar_member(b"m.xml", SIZE, b"0", content) for content in contents) + END),
        ("tar.gz", gzip.compress(b"".join(tar_member(b"", SIZE, b"0", content) for content in contents) + END)),
    ):
        (tmp_path / f"t.{suffix}").write_bytes(members)
    with pytest.warns(UserWarning, match="Duplicate name"):
        (tmp_path / "z.zip").write_bytes(zip_bytes([("m.xml", content) for content in contents]))
    found = [outcome(item) for item in items(tmp_path)]
    assert [content for _, content in found] == contents * 3
    assert [name for name, _ in found] == ["m.xml"] * 3 + [f"(member {n})" for n in (1, 2, 3)] + ["m.xml"] * 3


NAMES = ["/etc/passwd", "../../up.xml", "C:\\a.xml", "line\nfeed", "\x1b[2Jescape", "right\u202eleft", "é.xml"]


def test_names_are_only_names_and_can_be_printed(tmp_path: Path) -> None:
    printed = [*NAMES[:3], "line\\nfeed", "\\x1b[2Jescape", "right\\u202eleft", "é.xml"]
    (tmp_path / "t.tar.gz").write_bytes(tar_bytes(dict.fromkeys(NAMES, b"<a/>")))
    (tmp_path / "z.zip").write_bytes(zip_bytes([(name, b"<a/>") for name in NAMES]))
    (tmp_path / "new\nline.xml").write_bytes(b"<a/>")
    names = [outcome(item)[0] for item in items(tmp_path)]
    assert sorted(names) == sorted([*printed, *printed, "new\\nline.xml"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new\nline.xml", "t.tar.gz", "z.zip"]


def test_what_a_zip_names_behind_a_zero_byte_is_kept(tmp_path: Path) -> None:
    members = [("a#b.xml", b"<a/>"), ("a#c.xml", b"<c/>"), ("#", b"<d/>")]
    (tmp_path / "z.zip").write_bytes(zip_bytes(members).replace(b"#", b"\0"))
    assert [outcome(item) for item in items(tmp_path)] == [
        (name.replace("#", "\\x00"), content) for name, content in members
    ]


def test_a_zip_member_that_lies_outside_of_the_file_is_an_item(tmp_path: Path) -> None:
    whole = zip_bytes([("b.xml", b"<b/>"), ("a.xml", b"<a/>")])
    entry, end = whole.rindex(b"PK\1\2"), len(whole) - 22
    offset_in_extra = struct.pack("<2HQ", 1, 8, 1 << 63)
    directory = bytearray(whole[entry:end] + offset_in_extra)
    directory[30:32], directory[42:46] = struct.pack("<H", len(offset_in_extra)), b"\xff" * 4
    size, offset = struct.unpack("<2L", whole[-10:-2])
    sizes = struct.pack("<2L", size + len(offset_in_extra), offset)
    (tmp_path / "z.zip").write_bytes(whole[:entry] + directory + whole[end:-10] + sizes + whole[-2:])
    assert [outcome(item) for item in items(tmp_path)] == [("b.xml", b"<b/>"), ("a.xml", "corrupt_archive")]


@pytest.mark.parametrize(
    ("flags", "reason"), [(0x01, "unreadable"), (0x40, "unreadable"), (0x41, "unreadable"), (0x20, "corrupt_archive")]
)
def test_an_encrypted_or_patched_zip_member_is_an_item(tmp_path: Path, flags: int, reason: str) -> None:
    whole = zip_bytes([("m.xml", b"<a/>"), ("n.xml", b"<n/>")])
    entry = whole.index(b"PK\1\2")
    (tmp_path / "z.zip").write_bytes(whole[: entry + 8] + bytes([flags]) + whole[entry + 9 :])
    assert [outcome(item) for item in items(tmp_path)] == [("m.xml", reason), ("n.xml", b"<n/>")]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_member_with_another_compression_is_an_item(tmp_path: Path, method: int) -> None:
    (tmp_path / "z.zip").write_bytes(zip_bytes([("m.xml", b"<a/>")], method))
    (found,) = items(tmp_path)
    assert outcome(found) == ("m.xml", "unreadable")
    assert found.refused is not None
    assert f"compression method {method} is not read; pack it with deflate" in found.refused.message


@given(st.data())
def test_damage_to_an_archive_does_not_stop_the_reading(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    archives = {
        "a.zip": zip_bytes([("a.xml", b"<a>1</a>" * 9), ("b.xml.gz", gzip.compress(b"<b/>")), ("c/", b"")]),
        "a.tar": gzip.decompress(tar_bytes({"a.xml": b"<a/>", "b" * 120: b"<b/>"})),
        "a.tar.gz": tar_bytes({"a.xml": b"<a/>", "b.xml": b"<b/>"}),
        "a.xml.gz": gzip.compress(b"<a/>"),
    }
    name = data.draw(st.sampled_from(list(archives)))
    damaged = bytearray(archives[name])
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=6)):
        damaged[place] = data.draw(st.integers(0, 255))
    folder = tmp_path_factory.mktemp("damaged")
    (folder / name).write_bytes(damaged[: data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)))])
    (folder / "next.xml").write_bytes(b"<next/>")
    assert outcome(items(folder)[-1]) == ("next.xml", b"<next/>")
