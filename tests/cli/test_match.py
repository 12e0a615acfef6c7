"""`winnow match` and `winnow explain` as their users call them."""

import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from winnow.cli.main import main
from winnow.explain import explain

PROFILES = [
    {"profile_id": "cheap", "xpath": "//item[@price < 10]"},
    {"profile_id": "note", "xpath": "/order/note"},
    {"profile_id": "bare", "xpath": "/order[not(note)]"},
    {"profile_id": "bad", "xpath": "//item["},
]
EXPECTED = [
    ("a.xml", "cheap", "/order/item[2]/@price"),
    ("a.xml", "note", "/order/note[1]"),
    ("b.xml", "bare", "/order"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.xml").write_text("<order><item price='12'/><item price='7'/><note/></order>")
    (tmp_path / "in" / "b.xml").write_text("<order/>")
    (tmp_path / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PROFILES))
    return tmp_path


def rows(path: Path) -> list[tuple[str, ...]]:
    if path.suffix == ".parquet":
        found = [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
    elif path.suffix == ".jsonl":
        found = [tuple(json.loads(line).values()) for line in path.read_text().splitlines()]
    else:
        header, *found = [tuple(row) for row in csv.reader(path.open())]
        assert header == ("document", "profile_id", "witness")
    return sorted((Path(document).name, *rest) for document, *rest in found)


@pytest.mark.parametrize("name", ["m.csv", "m.jsonl", "m.parquet"])
@pytest.mark.parametrize("engine", ["boxpath", "boxfilter", "b-boxfilter"])
def test_match_writes_every_format(folder: Path, name: str, engine: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["match", str(folder / "in"), "--profiles", str(folder / "profiles.jsonl"), "--engine", engine]
    assert main([*words, "--output", str(folder / name)]) == 3  # one profile was rejected
    assert rows(folder / name) == EXPECTED
    told = capfd.readouterr().err
    assert "profile rejected: bad: syntax" in told
    assert "matches" in told


@pytest.mark.parametrize("name", ["d.csv", "d.jsonl", "d.parquet"])
def test_destinations_get_a_document_once(folder: Path, name: str) -> None:
    profiles = [{**row, "destination": "desk"} for row in PROFILES[:2]] + [{**PROFILES[2], "destination": "shelf"}]
    profiles += [{"profile_id": "nowhere", "xpath": "/order"}]
    (folder / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in profiles))
    words = ["match", str(folder / "in"), "--profiles", str(folder / "profiles.jsonl"), "--destinations"]
    assert main([*words, "--output", str(folder / name)]) == 0
    if name == "d.csv":
        found = [tuple(row) for row in csv.reader((folder / name).open())][1:]
    elif name == "d.jsonl":
        found = [tuple(json.loads(line).values()) for line in (folder / name).read_text().splitlines()]
    else:
        found = [tuple(row.values()) for row in pq.read_table(folder / name).to_pylist()]
    assert [(Path(document).name, place, int(count)) for document, place, count in found] == [
        ("a.xml", "desk", 2),
        ("b.xml", "shelf", 1),
    ]


def test_bad_documents_are_reported_and_skipped(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "profiles.jsonl").write_text(json.dumps(PROFILES[0]) + "\n")
    words = ["match", str(folder / "in"), "--profiles", str(folder / "profiles.jsonl")]
    assert main(words) == 0
    (folder / "in" / "c.xml").write_text("<order>")
    assert main(words) == 3
    out, err = capfd.readouterr()
    assert out.count("cheap") == 2
    assert "c.xml: malformed" in err


def test_undecided_pairs_are_told_and_change_the_status(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    slow = "count(//a[. = //b]) = 5"
    rows = [{"profile_id": "slow", "xpath": slow}, {"profile_id": "easy", "xpath": "//a[not(b)]"}]
    (folder / "profiles.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    document = folder / "in" / "wide.xml"
    document.write_text(f"<r>{'<a>1</a>' * 40_000}<b/></r>")
    words = [str(document), "--profiles", str(folder / "profiles.jsonl"), "--pair-seconds", "1"]
    assert main(["match", *words]) == 3
    out, err = capfd.readouterr()
    assert [line.split(",")[1] for line in out.splitlines()] == ["profile_id", "easy"]
    assert "wide.xml: slow: pair_deadline: libxml2 needs more than 1 s for this pair" in err
    assert "pairs undecided" in err
    assert main(["explain", str(document), "--profile", slow, "--pair-seconds", "1"]) == 3
    assert "undecided  (hybrid): pair_deadline: libxml2 needs more than 1 s" in capfd.readouterr().out


def test_records_are_documents(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "in" / "a.xml").write_text("<s><order><note/></order><order/><order><note/></order></s>")
    words = ["match", str(folder / "in" / "a.xml"), "--profiles", str(folder / "profiles.jsonl")]
    assert main([*words, "--record-tag", "order"]) == 3
    found = [line.split(",")[:2] for line in capfd.readouterr().out.splitlines()[1:]]
    assert [(Path(name).name, profile) for name, profile in found] == [
        ("a.xml#1", "note"),
        ("a.xml#2", "bare"),
        ("a.xml#3", "note"),
    ]


def test_wrong_calls_say_what_to_do(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["match", str(folder / "in"), "--profiles", str(folder / "profiles.jsonl")]
    assert main([*words, "--output", "m.xls"]) == 2
    assert main([*words, "--engine", "nope"]) == 2
    assert main(["match", str(folder / "none*"), *words[2:]]) == 2
    out, told = capfd.readouterr()
    assert not out, "no header before the call is known to be right"
    assert "neither .csv, .jsonl nor .parquet" in told
    assert "there is no engine 'nope' (one of boxpath" in told


@pytest.mark.parametrize(
    ("option", "value"), [("--max-bytes", "-5"), ("--max-bytes", "many"), ("--record-tag", ""), ("--record-tag", "<r>")]
)
def test_wrong_values_are_refused_at_once(
    folder: Path, option: str, value: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for words in (["match", "x", "--profiles", "x"], ["ingest", "documents", "x", "--date", "2026-11-16"]):
        assert main([*words, option, value]) == 2
        assert f"argument {option}: {value!r} is not" in capfd.readouterr().err


def test_wrong_lakes_and_addresses(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    profiles = str(folder / "profiles.jsonl")
    assert main(["ingest", "profiles", profiles, "--lake", profiles]) == 2
    assert main(["match", "nowhere://x/y", "--profiles", profiles]) == 2
    told = capfd.readouterr().err
    assert "bad_lake" in told
    assert "cannot read 'nowhere://x/y'" in told


def test_the_unexpected_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def fail(_: object) -> int:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("winnow.cli.check.run", fail)
    assert main(["check", "x.csv"]) == 1
    assert "winnow: ZeroDivisionError: division by zero (WINNOW_LOG=DEBUG shows where)" in capfd.readouterr().err


def test_an_interrupted_output_leaves_no_file(folder: Path) -> None:
    words = ["match", str(folder / "none*"), "--profiles", str(folder / "profiles.jsonl")]
    assert main([*words, "--output", str(folder / "m.csv")]) == 2
    assert not list(folder.glob("*m.csv*"))


DOCUMENT = b"<r><a><b>y</b></a><a><c k='1'/></a></r>"


@pytest.mark.parametrize(
    ("xpath", "matches", "findings"),
    [
        ("//a/c", True, ["/r/a[2]/c[1]"]),
        ("//a/d/e", False, ["fails at d: no such node below /r/a[1] or 1 more"]),
        ("//x", False, ["fails at x: no such node in the document"]),
        ("//c[@k > 5]", False, ["fails at @k[. > 5]: 1 such node, none passes; /r/a[2]/c[1]/@k is '1'"]),
        ("//a[b][c]", False, ["/r/a[1]/b[1]", "/r/a[2]/c[1]"]),
        ("//a[not(b)]", True, ["/r/a[1]"]),
    ],
)
def test_explain_tells_where(xpath: str, matches: bool, findings: list[str]) -> None:
    story = explain(DOCUMENT, xpath)
    assert story.matches is matches
    assert [branch.finding for branch in story.patterns[0].branches] == findings


def test_explain_sees_the_empty_text_node_of_an_empty_cdata_section() -> None:
    for content in (b"<r><![CDATA[]]></r>", b"<r><!-- --><![CDATA[]]></r>"):
        story = explain(content, "/r/text()[. = '']")
        assert [branch.finding for branch in story.patterns[0].branches] == ["/r/text()[1]"]


def test_explain_says_when_branches_do_not_meet() -> None:
    assert "below one node" in explain(DOCUMENT, "//a[b][c]").patterns[0].note
    assert "in document order" in explain(DOCUMENT, "/r[a/c][a/b]", ordered=True).patterns[0].note


def test_explain_on_the_command_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = str(folder / "in" / "a.xml")
    assert main(["explain", document, "--profile", "//item[@price < 10] | //nothing"]) == 0
    assert main(["explain", document, "--profile", "//p:nothing", "--namespace", "p=u"]) == 1
    assert main(["explain", document, "--profile", "//item["]) == 65
    out, err = capfd.readouterr()
    assert "/order/item[2]/@price" in out
    assert "fails at p:nothing" in out
    assert "syntax_error: column 8: " in err
    assert main(["explain", document, "--profile", "//p:a", "--namespace", "p"]) == 2
    assert "'p' is not PREFIX=URI" in capfd.readouterr().err
    assert main(["explain", document, "--profile", "//item", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["patterns"][0]["branches"][0]["finding"] == "/order/item[1]"


def test_ingest_looks_before_it_starts_spark(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--date", "2026-11-16", "--lake", str(folder / "lake")]
    script = f"""
import sys
from winnow.cli.main import main
code = main({["ingest", "documents", str(folder / "nofile.xml"), *words]!r})
sys.exit(code if "pyspark" not in sys.modules else 99)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"no_input: nothing to read at '{folder / 'nofile.xml'}'" in done.stderr
    assert not (folder / "lake").exists()


@pytest.mark.parametrize("master", ["nonsense", "local[0]", "local[two]", "spark:host", ""])
def test_a_wrong_master_is_one_sentence(folder: Path, master: str, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["ingest", "documents", str(folder / "in"), "--date", "2026-11-16", "--lake", str(folder / "lake")]
    assert main([*words, "--master", master or " "]) == 2
    told = capfd.readouterr().err
    assert f"winnow: bad_master: {master or ' '!r} is no Spark master (local, local[4]" in told
    assert "Exception" not in told
    assert not (folder / "lake").exists()


def test_masters_that_spark_knows() -> None:
    from winnow.tables.session import _MASTER

    known = [
        "local",
        "local[*]",
        "local[4]",
        "local[4,2]",
        "local[*, 3]",
        "yarn",
        "spark://h:7077",
        "k8s://https://h:443",
    ]
    assert all(_MASTER.fullmatch(master) for master in [*known, "local-cluster[2,1,1024]"])


def test_a_bomb_is_refused_unless_the_call_allows_for_it(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    record = b"<order>" + b" " * (1 << 20) + b"</order>"
    (folder / "bomb.xml.gz").write_bytes(gzip.compress(b"<s>" + record * 70 + b"</s>"))
    (folder / "one.jsonl").write_text(json.dumps(PROFILES[2]) + "\n")
    output = folder / "m.csv"
    words = ["match", str(folder / "bomb.xml.gz"), "--record-tag", "order", "--profiles", str(folder / "one.jsonl")]
    assert main([*words, "--output", str(output)]) == 3
    assert "archive_bomb: a file of" in capfd.readouterr().err
    assert 60 < len(rows(output)) < 70
    assert main([*words, "--output", str(output), "--max-expansion", "2000"]) == 0
    assert len(rows(output)) == 70
