"""The sample of a lake is that of its documents, in whatever batches they came; estimates reach the engines."""

import datetime as dt
import hashlib
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from winnow.index.codes import text_codes
from winnow.jobs import encode_documents, sample_values
from winnow.report.facts import Bar
from winnow.report.gather import gather
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.values.counting import selectivity_of

from .lakes import FIRST, SECOND, declare, ingest, published, reference, rows, run

pytestmark = pytest.mark.spark

NAMES = [f"{k:03d}" for k in range(60)]


def store(tables: Tables, names: list[str], *, date: dt.date = FIRST, batch: str = "batch") -> None:
    """Stores and encodes a document of each name."""
    columns = contract("documents")
    found = []
    for name in names:
        content = f"<a k='{int(name) % 3}'><b>{name}</b><c>x</c></a>".encode()
        found.append((hashlib.sha256(content).hexdigest(), bytearray(content), len(content), "utf-8", "a", date))
    frame = tables.spark.createDataFrame(found, columns.row_type)
    tables.append("documents", frame, Transaction(f"test/{date}/{batch}"))
    encode_documents.run(tables.spark, encode_documents.Config(lake=tables.lake, date=date, run_id=batch))


def estimates(tables: Tables, sample: int = 20, values: int = 1000) -> list[dict[str, object]]:
    sample_values.run(tables.spark, sample_values.Config(lake=tables.lake, sample=sample, values=values))
    found = rows(tables.lake, "selectivity")
    return sorted(found, key=lambda row: (str(row["label"]), str(row["counted"]), str(row["code"])))


def test_the_sample_does_not_depend_on_batches(spark: SparkSession, tmp_path: Path) -> None:
    one, three = (Lake(str(tmp_path / name)).open(spark) for name in ("one", "three"))
    for tables in (one, three):
        tables.create("document_sources")
    store(one, NAMES)
    expected = estimates(one)
    assert {row["sampled"] for row in expected} == {20}
    store(three, NAMES[:35], batch="first")
    estimates(three)
    store(three, NAMES[35:40], batch="second")
    store(three, NAMES[40:], date=SECOND, batch="third")
    assert estimates(three) == expected
    version = three.version("selectivity")
    assert estimates(three) == expected
    assert three.version("selectivity") == version  # nothing new is not counted again
    kept = {row["batch"]: row for row in rows(three.lake, "document_samples")}
    assert set(kept) == {"first", "second", "third"}
    ranks = three.read("documents").select(sf.xxhash64("document_id").alias("rank")).orderBy("rank").limit(20)
    samples = three.read("document_samples").select("rank").orderBy("rank").limit(20)
    assert samples.exceptAll(ranks).isEmpty()


def test_rows_say_what_was_counted(tables: Tables) -> None:
    tables.create("document_sources")
    store(tables, NAMES)
    all_rows = estimates(tables, sample=60)
    found = {(row["label"], row["counted"], row["value"]): row for row in all_rows}
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
    known = selectivity_of(tables.read("selectivity").toArrow(), 60)
    codes = np.array([found["c", "text", "x"]["code"], found["@k", "number", "1"]["code"]], np.int64)
    assert known.share(codes, text_codes(["c", "@k"])).tolist() == [1, 1 / 3]
    assert known.documents_with(codes).tolist() == [1, 1 / 3]
    store(tables, ["061"], batch="another")
    few = [row for row in estimates(tables, sample=61, values=2) if row["counted"] != "label"]
    assert {(row["label"], row["value"]) for row in few} == {("c", "x"), ("text()", "x")}


def test_a_run_samples_and_matches(spark: SparkSession, tables: Tables, tmp_path: Path) -> None:
    lake = tables.lake

    def write(folder: str, names: range) -> Path:
        (tmp_path / folder).mkdir()
        for k in names:
            (tmp_path / folder / f"{k}.xml").write_text(f"<order><about>all</about><by>w{k}</by></order>")
        return tmp_path / folder

    xpath = "//order[about = 'all'][by = 'w{}']"
    declare(spark, lake, tmp_path, [{"profile_id": f"p{k}", "xpath": xpath.format(k)} for k in range(40)])
    ingest(spark, lake, FIRST, write("first", range(25)))
    reports = run(spark, lake, FIRST)
    assert reports["sample_values"].counts["documents sampled"] == 25
    assert reports["match_documents"].counts["verified"] <= 25  # not 25 documents x 40 profiles: all are about all
    ingest(spark, lake, SECOND, write("second", range(25, 40)))
    run(spark, lake, SECOND)
    assert published(lake) == reference(lake)
    assert len(published(lake)) == 40
    sample_values.run(spark, sample_values.Config(lake=lake))
    facts = gather(lake, SECOND)
    assert facts.sampled == 40
    assert facts.common[0] == Bar("about = all", 100.0, "40 of 40 nodes")
    assert [bar.label for bar in facts.rare] == ["text() = all", "about = all"]  # writers occur once
