"""Every row of a profile file is a profile or a rejection with its row number."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from winnow.errors import DataError, UsageError
from winnow.ingest.profiles import ProfileFile, read_profiles


def read(path: Path, content: str | bytes) -> ProfileFile:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_profiles(str(path))


def rejections(file: ProfileFile) -> list[tuple[int, Any, str]]:
    return [(row["row_number"], row["profile_id"], row["reason"]) for row in file.rejected.to_pylist()]


def test_jsonl(tmp_path: Path) -> None:
    rows = [
        '{"profile_id": "a", "xpath": "//a"}',
        "",
        "{not json",
        '["a list"]',
        '{"profile_id": "b"}',
        '{"profile_id": "", "xpath": "//b"}',
        '{"profile_id": "c", "xpath": 7}',
        '{"profile_id": "a", "xpath": "//other"}',
        '{"profile_id": "d", "xpath": "//d", "orderd": true}',
        '{"profile_id": "e", "xpath": "//e", "valid_from": "2026-02-30"}',
        '{"profile_id": "f", "xpath": "//f", "valid_from": "2026-02-03", "valid_to": "2026-02-03"}',
        '{"profile_id": "g", "xpath": "//g", "namespaces": {"p": 1}}',
        '{"profile_id": "h", "xpath": "//p:h", "namespaces": {"p": "u"}, "ordered": true, "colour": "red"}',
        json.dumps({"profile_id": "i" * 300, "xpath": "//i"}),
    ]
    file = read(tmp_path / "p.jsonl", "\n".join(rows))
    assert [row["profile_id"] for row in file.profiles.to_pylist()] == ["a", "h"]
    assert file.profiles.to_pylist()[1]["namespaces"] == [("p", "u")]
    assert file.profiles.to_pylist()[1]["ordered"] is True
    assert file.ignored_fields == {"colour": 1}
    assert rejections(file) == [
        (3, None, "not_json"),
        (4, None, "not_json"),
        (5, "b", "missing_field"),
        (6, "", "missing_field"),
        (7, "c", "bad_field"),
        (8, "a", "duplicate_id"),
        (9, "d", "unknown_field"),
        (10, "e", "bad_field"),
        (11, "f", "bad_field"),
        (12, "g", "bad_field"),
        (14, "i" * 300, "too_long"),
    ]
    assert "row 1" in file.rejected.to_pylist()[5]["message"]


def test_not_utf8_rejects_only_its_row(tmp_path: Path) -> None:
    lines = b'{"profile_id": "a", "xpath": "//\xff"}\n{"profile_id": "b", "xpath": "//b"}\n'
    file = read(tmp_path / "p.jsonl", lines)
    assert rejections(file) == [(1, None, "not_utf8")]
    assert file.profiles.num_rows == 1
    file = read(tmp_path / "p.csv", b"profile_id,xpath\na,//\xff\nb,//b\n")
    assert rejections(file) == [(2, None, "not_utf8")]
    assert file.profiles.num_rows == 1


def test_csv_is_read_like_jsonl(tmp_path: Path) -> None:
    text = (
        "profile_id,xpath,namespaces,ordered,valid_from,subscriber\n"
        'a,"//a[. = ""x, y""]",,,,\n'
        'b,//p:b,"{""p"": ""u""}",true,2026-01-01,me\n'
        "c,//c,{broken,,,\n"
        "d,//d,,perhaps,,\n"
        "too,few\n"
        "e,,,,,\n"
    )
    file = read(tmp_path / "p.csv", text)
    first, second = file.profiles.to_pylist()
    assert first["xpath"] == '//a[. = "x, y"]'
    assert (second["namespaces"], second["ordered"], second["subscriber"]) == ([("p", "u")], True, "me")
    assert rejections(file) == [
        (4, "c", "bad_field"),
        (5, "d", "bad_field"),
        (6, None, "not_csv"),
        (7, "e", "missing_field"),
    ]


def test_gzip_and_wrong_calls(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl.gz"
    assert read(path, gzip.compress(b'{"profile_id": "a", "xpath": "//a"}')).profiles.num_rows == 1
    for name, content, words in (
        ("p.csv", "id,path\n", "has the columns id, path; it needs profile_id and xpath"),
        ("p.csv", "profile_id,xpath,xpath\n", "twice"),
        ("p.txt", "", "neither CSV nor JSONL"),
    ):
        with pytest.raises(UsageError, match=words):
            read(tmp_path / name, content)
    with pytest.raises(UsageError, match="no profile file"):
        read_profiles(str(tmp_path / "gone.csv"))
    for content in (gzip.compress(b'{"profile_id": "a", "xpath": "//a"}\n' * 99)[:-9], b"not gzip"):
        with pytest.raises(DataError, match="unreadable"):
            read(path, content)


def test_what_python_or_a_table_cannot_hold_rejects_only_its_row(tmp_path: Path) -> None:
    rows = [
        '{"profile_id": "a", "xpath": "//a", "n": ' + "9" * 5000 + "}",
        '{"profile_id": "b", "xpath": "//b[. = \'\\ud800\']"}',
        '{"profile_id": "\\udfff", "xpath": "//c"}',
        '{"profile_id": "d", "xpath": "//d", "namespaces": {"p": "\\ud800"}}',
        '{"profile_id": "e", "xpath": "//e", "colour\\ud800": 1}',
        '{"profile_id": "f", "xpath": "//f[. = \'\\ud83d\\ude00\']"}',
    ]
    file = read(tmp_path / "p.jsonl", "\n".join(rows))
    assert rejections(file) == [
        (1, None, "not_json"),
        (2, "b", "not_utf8"),
        (3, "?", "not_utf8"),
        (4, "d", "not_utf8"),
    ]
    assert file.profiles.column("profile_id").to_pylist() == ["e", "f"]
    file = read(tmp_path / "p.csv", "profile_id,xpath,namespaces\na,//a," + "[" * 100_000 + "\nb,//b,\n")
    assert rejections(file) == [(2, "a", "bad_field")]


def test_the_real_profiles_are_all_read(corpora: Path) -> None:
    file = read_profiles(str(corpora / "invoice-profiles.jsonl.gz"))
    assert (file.profiles.num_rows, file.rejected.num_rows) == (6457, 0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ('"xpath": "//b"', "'xpath' is there twice"),
        ('"namespaces": {"p": "u", "p": "v"}', "prefix 'p' is there twice in namespaces"),
        *((f'"namespaces": {value}', "namespaces is not an object") for value in ("[]", '""', "0", "false", "[1]")),
        *((f'"ordered": {value}', "not true or false") for value in ("null", "0", "1", '""', '"true"', "[]")),
    ],
)
def test_json_is_taken_at_its_word(tmp_path: Path, fields: str, words: str) -> None:
    rows = ['{"profile_id": "a", "xpath": "//a", ' + fields + "}", '{"profile_id": "b", "xpath": "//b"}']
    file = read(tmp_path / "p.jsonl", "\n".join(rows))
    assert rejections(file) == [(1, "a", "bad_field")]
    assert words in file.rejected.to_pylist()[0]["message"]
    assert file.profiles.column("profile_id").to_pylist() == ["b"]


def test_json_that_says_nothing_is_taken(tmp_path: Path) -> None:
    rows = [
        '{"profile_id": "a", "xpath": "//a", "namespaces": null}',
        '{"profile_id": "b", "xpath": "//b", "namespaces": {}, "ordered": false}',
        '{"profile_id": "c", "xpath": "//c", "notes": {"x": 1, "x": 2}}',
    ]
    file = read(tmp_path / "p.jsonl", "\n".join(rows))
    assert file.profiles.column("ordered").to_pylist() == [False] * 3
    assert not file.rejected.num_rows


def test_an_id_that_is_there_twice_is_no_id(tmp_path: Path) -> None:
    file = read(tmp_path / "p.jsonl", '{"profile_id": "a", "xpath": "//a", "profile_id": "b"}')
    assert rejections(file) == [(1, None, "bad_field")]


def test_csv_keeps_its_words_for_true_and_false(tmp_path: Path) -> None:
    rows = [f"p{number},//a,,{word}" for number, word in enumerate(("true", "1", "Yes", "false", "0", "NO", ""))]
    rows += ["n,//a,[],", 'm,//a,"{""p"": ""u"", ""p"": ""v""}",']
    file = read(tmp_path / "p.csv", "\n".join(["profile_id,xpath,namespaces,ordered", *rows]))
    assert file.profiles.column("ordered").to_pylist() == [True] * 3 + [False] * 4
    assert rejections(file) == [(9, "n", "bad_field"), (10, "m", "bad_field")]
