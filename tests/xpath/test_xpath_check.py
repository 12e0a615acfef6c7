"""`winnow check`, on files as users write them."""

import gzip
import json
from pathlib import Path

from winnow.cli.main import main

ROWS = [
    {"profile_id": "p1", "xpath": "//a[n:b or @c = 'x']", "namespaces": {"n": "urn:n"}},
    {"profile_id": "p2", "xpath": "//a[not(b)]"},
    {"profile_id": "p3", "xpath": "//a[ends-with(b, 'x')]"},
    {"profile_id": "p4", "xpath": "/a[b]/c", "ordered": True},
    {"profile_id": "p5"},
]


def run(path: Path, *options: str) -> int:
    return main(["check", str(path), *options])


def test_json(tmp_path: Path, capsys) -> None:
    path = tmp_path / "profiles.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, ROWS)).encode()))
    assert run(path, "--json") == 3
    *found, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [row["class"] for row in found] == ["native", "hybrid", "rejected", "native", "rejected"]
    assert found[0]["branches"] == ["//a/{urn:n}b", "//a/@c[. = 'x']"]
    assert found[1]["patterns"] == ["//a"]
    assert found[1]["reasons"][0]["code"] == "not"
    assert (found[2]["reasons"][0]["code"], found[2]["reasons"][0]["column"]) == ("unknown_function", 5)
    assert found[3]["patterns"] == ["/a[b]/c"]
    assert last["totals"] == {"native": 2, "hybrid": 1, "rejected": 2}


def test_csv_for_people(tmp_path: Path, capsys) -> None:
    path = tmp_path / "profiles.csv"
    path.write_text('profile_id,xpath,namespaces\np1,//n:a,"{""n"": ""urn:n""}"\np2,false(),\np3,//a[2],\n')
    assert run(path) == 0
    out = capsys.readouterr().out
    assert "p1  native  //n:a\n    pattern  //n:a\n" in out
    assert "never true" in out
    assert "because  position: column 5: positions depend on" in out
    assert "3 profiles: 2 native, 1 hybrid, 0 rejected" in out
