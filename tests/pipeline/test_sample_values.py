"""The sample of a lake is that of its documents, in whatever batches they came; estimates reach the engines."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lakes import FIRST, SECOND, declare, ingest, published, reference, rows, run
from pyspark.sql import SparkSession

from checksums import by_delta_rs
from winnow.index.codes import text_codes
from winnow.lake.store import ensure_tables, replace_partition, state, write_rows
from winnow.pipeline import sample_values
from winnow.pipeline.sample_values import Config, load_selectivity
from winnow.report.facts import Bar, gather
from winnow.values.reservoir import last_rank, ranks

NAMES = [f"{k:03d}" for k in range(60)]


def keep(lake: str, batches: dict[str, list[str]], date: dt.date = FIRST, size: int = 20) -> None:
    """What encode_documents leaves of such batches."""
    ensure_tables(lake, ("document_samples",))
    for batch, names in batches.items():
        rank = ranks(pa.array(names))
        chosen = np.flatnonzero(rank <= last_rank(rank, size))
        kept = [names[k] for k in chosen]
        contents = [f"<a k='{int(name) % 3}'><b>{name}</b><c>x</c></a>".encode() for name in kept]
        table = pa.table({"document_id": kept, "rank": rank[chosen], "content": contents})
        partition = {"ingest_date": date, "batch": batch}
        replace_partition(
            lake, "document_samples", write_rows(lake, "document_samples", table, partition), partition, {}
        )


def count(lake: str, size: int = 20) -> list[dict[str, Any]]:
    sample_values.run(Config(lake=lake, run_id="test", sample=size))
    return rows(lake, "selectivity")


def test_batches_merged_are_one(tmp_path: Path) -> None:
    one, two, killed = (str(tmp_path / name) for name in ("one", "two", "killed"))
    keep(one, {"all": NAMES})
    keep(two, {"first": NAMES[:35], "second": NAMES[35:40], "third": NAMES[40:]})
    keep(killed, {"left by a killed run": NAMES[:35], "all": NAMES})
    expected = count(one)
    assert expected
    assert {row["sampled"] for row in expected} == {20}
    assert count(two) == expected
    assert count(killed) == expected
    assert count(killed, 1000) != expected


def test_rows_say_what_was_counted(lake: str) -> None:
    keep(lake, {"all": NAMES}, size=60)
    found = {(row["label"], row["counted"], row["value"]): row for row in count(lake, 60)}
    assert {key[:2]: row["kind"] for key, row in found.items() if key[1] == "label"} == {
        ("a", "label"): "element",
        ("b", "label"): "element",
        ("c", "label"): "element",
        ("@k", "label"): "attribute",
        ("text()", "label"): "text",
    }
    assert found["c", "text", "x"]["fraction"] == 1
    assert found["@k", "text", "1"]["fraction"] == found["@k", "number", "1"]["fraction"] == 1 / 3
    assert found["@k", "label", None]["occurrences"] == 60
    assert found["text()", "label", None]["fraction"] == 120 / 360
    assert not any(label == "b" and counted != "label" for label, counted, _ in found)  # each occurs once
    known = load_selectivity(lake)
    assert known is not None
    codes = np.array([found["c", "text", "x"]["code"], found["@k", "number", "1"]["code"]])
    assert known.share(codes, text_codes(["c", "@k"])).tolist() == [1, 1 / 3]
    assert known.documents_with(codes).tolist() == [1, 1 / 3]
    assert known.documents_labelled(text_codes(["a", "text()"])).tolist() == [1, 1]


def test_nothing_new_is_not_counted_again(lake: str) -> None:
    assert load_selectivity(lake) is None
    assert count(lake) == []
    assert load_selectivity(lake) is None
    keep(lake, {"first": NAMES[:35]})
    count(lake)
    before = state(lake, "selectivity")
    count(lake)
    assert state(lake, "selectivity") == before
    keep(lake, {"second": NAMES[35:]}, SECOND)
    count(lake)
    assert state(lake, "selectivity") != before
    keys = [(row["label"], row["counted"], row["code"]) for row in rows(lake, "selectivity")]
    assert len(keys) == len(set(keys))  # replaced, not added


def test_only_the_most_frequent_values_are_kept(lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(lake, {"all": NAMES}, size=60)
    monkeypatch.setattr(sample_values, "ROWS", 2)
    found = [row for row in count(lake, 60) if row["counted"] != "label"]
    assert {(row["label"], row["value"]) for row in found} == {("c", "x"), ("text()", "x")}


@pytest.mark.spark
def test_a_run_samples_and_matches(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    def write(folder: str, names: range) -> Path:
        (tmp_path / folder).mkdir()
        for k in names:
            (tmp_path / folder / f"{k}.xml").write_text(f"<order><about>all</about><by>w{k}</by></order>")
        return tmp_path / folder

    xpath = "//order[about = 'all'][by = 'w{}']"
    declare(lake, tmp_path, [{"profile_id": f"p{k}", "xpath": xpath.format(k)} for k in range(40)])
    ingest(spark, lake, FIRST, write("first", range(25)))
    reports = run(spark, lake, FIRST)
    assert reports["sample_values"].counts["documents counted"] == 25
    assert reports["match_documents"].counts["verified"] <= 25  # not 25 documents x 40 profiles: all are about all
    ingest(spark, lake, SECOND, write("second", range(25, 40)))
    run(spark, lake, SECOND)
    assert published(lake) == reference(lake)
    assert len(published(lake)) == 40
    samples = {row["document_id"]: row for row in rows(lake, "document_samples")}
    assert {name: row["content"] for name, row in samples.items()} == {
        row["document_id"]: row["content"] for row in rows(lake, "documents")
    }
    assert [row["rank"] for row in samples.values()] == ranks(pa.array(list(samples))).tolist()
    facts = gather(lake, SECOND)
    assert facts.sampled == 40
    assert facts.common[0] == Bar("about = all", 100.0, "40 of 40 nodes")
    assert [bar.label for bar in facts.rare] == ["text() = all", "about = all"]  # writers occur once
    before = by_delta_rs(f"{lake}/selectivity")
    assert run(spark, lake, FIRST, SECOND)["sample_values"].counts["documents counted"] == 0
    assert by_delta_rs(f"{lake}/selectivity") == before
