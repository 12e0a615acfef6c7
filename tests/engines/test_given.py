"""What a matcher takes, in every form, and what it refuses to take."""

import io
import json
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from winnow import Matcher
from winnow.errors import UsageError

XML = "<?xml version='1.0' encoding='ISO-8859-1'?><order><note>é</note></order>"
ROWS = [
    {"profile_id": "noted", "xpath": "//note[. = 'é']", "namespaces": None, "ordered": False},
    {"profile_id": "bad", "xpath": "//note[", "namespaces": None, "ordered": False},
]


def file_of(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


@pytest.mark.parametrize(
    "form",
    [
        lambda folder: XML.encode("latin-1"),
        lambda folder: XML,
        lambda folder: memoryview(XML.encode("latin-1")),
        lambda folder: file_of(folder, "a.xml", XML.encode("latin-1")),
        lambda folder: io.BytesIO(XML.encode("latin-1")),
        lambda folder: io.StringIO(XML),
        lambda folder: ("name", XML),
        lambda folder: ("name", bytearray(XML.encode("latin-1"))),
    ],
)
def test_forms_of_documents(form: Callable[[Path], Any], tmp_path: Path) -> None:
    given = form(tmp_path)
    (found,) = Matcher([("p", "//note[. = 'é']")]).match([given])
    name = "name" if isinstance(given, tuple) else str(given) if isinstance(given, Path) else 0
    assert found == (name, "p", "/order/note[1]")


def test_an_open_file_has_its_name(tmp_path: Path) -> None:
    with file_of(tmp_path, "a.xml", b"<a/>").open("rb") as stream:
        (found,) = Matcher([("p", "/a")]).match([stream])
    assert found.document == str(tmp_path / "a.xml")


@pytest.mark.parametrize(
    "form",
    [
        lambda folder: ROWS,
        lambda folder: [tuple(row.values()) for row in ROWS],
        lambda folder: [tuple(row.values())[:2] for row in ROWS],
        lambda folder: pa.Table.from_pylist(ROWS),
        lambda folder: pd.DataFrame(ROWS),
        lambda folder: pl.DataFrame(ROWS),
        lambda folder: file_of(folder, "p.jsonl", "\n".join(map(json.dumps, ROWS)).encode()),
        lambda folder: str(file_of(folder, "p.csv", "profile_id,xpath\nnoted,//note[. = 'é']\nbad,//note[".encode())),
    ],
)
def test_forms_of_profiles(form: Callable[[Path], Any], tmp_path: Path) -> None:
    matcher = Matcher(form(tmp_path))
    assert [row.profile_id for row in matcher.match([XML])] == ["noted"]
    assert [(row.profile_id, row.code) for row in matcher.rejected] == [("bad", "syntax_error")]


def test_namespaces_of_a_table() -> None:
    kind = pa.map_(pa.string(), pa.string())
    columns = {"profile_id": ["p"], "xpath": ["//x:a"], "namespaces": pa.array([[("x", "urn:x")]], kind)}
    assert len(list(Matcher(pa.table(columns)).match(["<a xmlns='urn:x'/>"]))) == 1


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ({"id": "p", "xpath": "//a"}, "profile 1 has the fields id, xpath; it needs profile_id and xpath"),
        ({"profile_id": "p", "xpath": "//a", "namespace": {}}, "has the fields profile_id, xpath, namespace"),
        (("y", 3), "profile 1: xpath is 3 of type int, not text"),
        ((7, "//a"), "profile_id is 7 of type int"),
        (("p", "//a", {"x": 1}), "namespaces is {'x': 1} of type dict, not a mapping of prefix to URI"),
        (("p", "//a", None, "yes"), "ordered is 'yes' of type str, not true or false"),
        (("p",), "profile 1 is ('p',) of type tuple"),
        ("//a", "profile 1 is '//a' of type str"),
    ],
)
def test_what_is_no_profile_is_refused(profile: Any, words: str) -> None:
    with pytest.raises(UsageError) as raised:
        Matcher([("ok", "//a"), profile])
    assert words in raised.value.message


def test_a_table_of_something_else_is_refused() -> None:
    with pytest.raises(UsageError, match="the table has the columns id, query; it needs profile_id and xpath"):
        Matcher(pa.table({"id": ["a"], "query": ["//a"]}))


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        ("<a/>", "documents is one str"),
        (b"<a/>", "documents is one bytes"),
        ([7], "document 0 is of type int"),
        ([("a", 7)], "document 0 is of type int"),
        ([("a", b"<a/>", 1)], "document 0 is of type tuple"),
    ],
)
def test_what_is_no_document_is_refused(documents: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        list(Matcher([("p", "/a")]).match(documents))


def test_nothing_is_missing_silently(tmp_path: Path) -> None:
    answers = Matcher([("p", "/a")]).match([tmp_path / "none.xml", "<a>", b"<a/>", tmp_path])
    assert [row.document for row in answers] == [2]
    refused = {str(row.document): row.reason for row in answers.refused}
    assert refused == {str(tmp_path / "none.xml"): "unreadable", "1": "malformed", str(tmp_path): "unreadable"}


def test_answers_as_tables() -> None:
    matcher = Matcher([("p", "//b"), ("q", "/a")])
    documents = [("x", "<a><b/></a>"), ("y", "<a/>")]
    assert matcher.match(documents).to_arrow().column("document").to_pylist() == ["x", "x", "y"]
    assert matcher.match(["<a/>"]).to_arrow().column("document").to_pylist() == [0]
    frame = matcher.match(documents).to_pandas()
    assert list(frame.itertuples(index=False, name=None)) == list(matcher.match(documents))
    assert matcher.match(["<c/>"]).to_arrow().schema.names == ["document", "profile_id", "witness"]


def test_threads_share_a_matcher() -> None:
    matcher = Matcher([(f"p{n}", f"//n{n}") for n in range(50)])
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        documents = [(f"{number}-{k}", f"<r><n{(number + k) % 50}/><own{number}-{k}/></r>") for k in range(60)]
        found[number] = [f"{row.document} {row.profile_id}" for _ in range(5) for row in matcher.match(documents)]
        matcher.add([(f"t{number}", f"//own{number}-0")])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        once = [f"{number}-{k} p{(number + k) % 50}" for k in range(60)]
        assert found[number] == once * 5
    assert len(matcher) == 58


def test_a_matcher_is_carried_to_another_process() -> None:
    matcher = pickle.loads(pickle.dumps(Matcher([("p", "/a")])))
    matcher.add([("q", "//b")])
    assert [row.profile_id for row in matcher.match(["<a><b/></a>"])] == ["p", "q"]
