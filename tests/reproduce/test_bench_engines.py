"""`winnow bench engines`: one row for each engine and workload, parts that add up, the same matches."""

import json
from pathlib import Path

import pytest

from winnow.bench import engines
from winnow.reproduce.workload import Workload

NAMES = ("boxfilter", "b-boxfilter", "nfa", "buff")


def test_rows_of_a_small_workload(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"small": Workload(30, 60, dtds=("news",), elements=20)}
    monkeypatch.setattr(engines, "workloads", lambda scale: small)
    shown = engines.run(tmp_path, quick=True, engines=NAMES)["table"]
    rows = json.loads((tmp_path / "engines.json").read_text())
    assert [row["engine"] for row in rows] == list(NAMES)
    assert len(shown.strip().splitlines()) == 1 + len(NAMES)
    assert len({row["matches"] for row in rows}) == 1
    for row in rows:
        parts = row["sequences_us"] + row["search_us"] + row["verification_us"]
        assert parts == pytest.approx(row["match_us"])
        assert row["candidates"] >= row["matches"] > 0
        assert row["comparisons"] > 0
    by_name = {row["engine"]: row for row in rows}
    assert by_name["nfa"]["to_nfa"] == by_name["buff"]["to_buff"] == 1
    assert by_name["boxfilter"]["verification_us"] > 0 < by_name["boxfilter"]["sequences_us"]
    assert by_name["b-boxfilter"]["candidates"] == by_name["boxfilter"]["candidates"]


def test_engines_that_disagree_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "workloads", lambda scale: {"small": Workload(1, 1, dtds=("news",))})
    told = iter([1.0, 2.0])
    monkeypatch.setattr(
        engines, "measure", lambda name, prepared: {"engine": name, "match_us": 1, "matches": next(told)}
    )
    with pytest.raises(AssertionError, match="disagree"):
        engines.run(tmp_path, quick=True, engines=("nfa", "buff"))
