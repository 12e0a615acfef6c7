"""`winnow.spark.match` gives what `Matcher` and libxml2 give, whatever frames it is asked with."""

import gzip
import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from encoding.documents import NIGHTLY, examples
from winnow.errors import UsageError
from winnow.matcher import Matcher
from winnow.spark import build_index, load_index, match, match_tasks, register
from xpath_strategies import document, profile

from .conftest import Frames

pytestmark = pytest.mark.spark


def rows(frame: DataFrame, *columns: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.select(*columns or frame.columns).collect())


@pytest.mark.cluster
def test_a_row_for_each_document_and_profile(documents_of: Frames, profiles_of: Frames) -> None:
    found = match(
        documents_of(a="<order><item price='7'/></order>", b="<order/>"),
        profiles_of(cheap="//item[@price < 10]", any="/order", none="//zz"),
    )
    assert rows(found) == [("a", "any", "/order"), ("a", "cheap", "/order/item[1]/@price"), ("b", "any", "/order")]


def test_text_has_no_encoding_but_its_own(documents_of: Frames, profiles_of: Frames) -> None:
    text = "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>"
    found = match(documents_of(a=text), profiles_of(p="/a[. = 'é']"))
    assert rows(found, "document_id", "profile_id") == [("a", "p")]
    found = match(documents_of(a=text.encode("latin-1")), profiles_of(p="/a[. = 'é']"))
    assert rows(found, "document_id", "profile_id") == [("a", "p")]


def test_other_names_and_carried_columns(spark: SparkSession, profiles_of: Frames) -> None:
    frame = spark.createDataFrame([(7, "<a/>", "x", 1.5)], "number long, xml string, desk string, price double")
    found = match(frame, profiles_of(p="/a"), id_column="number", content_column="xml", carry=["desk", "price"])
    assert found.columns == ["number", "profile_id", "witness", "desk", "price"]
    assert rows(found) == [(7, "p", "/a", "x", 1.5)]


@pytest.mark.cluster
def test_nothing_is_lost(documents_of: Frames, profiles_of: Frames) -> None:
    """Refused documents are rows; rejected profiles are told by the index, once."""
    index = build_index(profiles_of(good="/a", bad="//a["))
    found = match(documents_of(a="<a/>", b="<a>", c=None), index, outcomes=True)
    told = rows(found.select("document_id", "outcome", "reason", sf.coalesce("message", sf.lit(""))))
    assert [row[:3] for row in told] == [("a", "match", None), ("b", "refused", "malformed"), ("c", "refused", "empty")]
    assert told[1][3].startswith("line 1")
    assert rows(index.rejected, "profile_id", "code", "column") == [("bad", "syntax_error", 5)]
    assert rows(match(documents_of(a="<a/>", b="<a>"), index), "document_id") == [("a",)]


def test_no_profile_accepted_is_an_error_of_the_call(documents_of: Frames, profiles_of: Frames) -> None:
    with pytest.raises(UsageError, match=r"no_profile_accepted.*bad"):
        match(documents_of(a="<a/>"), profiles_of(bad="//a["))


def test_columns_are_checked_before_any_job(spark: SparkSession, documents_of: Frames, profiles_of: Frames) -> None:
    good = documents_of(a="<a/>")
    for frame, options in (
        (good.drop("content"), {}),
        (good.withColumn("content", sf.lit(1)), {}),
        (good.drop("document_id"), {}),
        (good, {"carry": ["desk"]}),
        (good.withColumn("witness", sf.lit("")), {"carry": ["witness"]}),
        (good.withColumn("a.b", sf.lit("")), {"carry": ["a.b"]}),
    ):
        with pytest.raises(UsageError, match="bad_columns"):
            match(frame, profiles_of(p="/a"), **options)
    with pytest.raises(UsageError, match=r"no column 'xpath'.*it has profile_id"):
        match(good, profiles_of(p="/a").drop("xpath"))
    with pytest.raises(UsageError, match="'ordered' is int"):
        match(good, profiles_of(p="/a").withColumn("ordered", sf.lit(1)))


def test_misuse_is_an_error_before_any_job(documents_of: Frames, profiles_of: Frames) -> None:
    documents, profiles = documents_of(a="<a/>"), profiles_of(p="/a")
    for wrong, words in (
        (lambda: match(documents, "s3://landing/index"), r"bad_frame.*load_index"),
        (lambda: match("messages", profiles), r"bad_frame.*spark\.table"),
        (lambda: match(documents, profiles, carry="desk"), r"carry=\['desk'\]"),
        (lambda: match(documents, profiles, engine="nope"), r"unknown_engine.*boxpath"),
        (lambda: build_index(profiles, partitions=0), "bad_partitions"),
    ):
        with pytest.raises(UsageError, match=words):
            wrong()


def test_names_with_blanks(documents_of: Frames, profiles_of: Frames) -> None:
    documents = documents_of(a="<a/>").toDF("the id", "a body").withColumn("x y", sf.lit(1))
    index = build_index(profiles_of(p="/a", q="/a"), partitions=2)
    found = match(documents, index, id_column="the id", content_column="a body", carry=["x y"])
    assert sorted(map(tuple, found.collect())) == [("a", "p", "/a", 1), ("a", "q", "/a", 1)]


@pytest.mark.cluster
@pytest.mark.parametrize("partitions", [1, 8])
def test_a_saved_index_gives_the_same_rows(
    spark: SparkSession, documents_of: Frames, profiles_of: Frames, tmp_path: Path, partitions: int
) -> None:
    profiles = profiles_of(**{f"p{k}": f"//a[b = {k % 5}]" for k in range(40)}, bad="/", worse="//[")
    sample = documents_of(**{f"d{k}": f"<a><b>{k}</b></a>" for k in range(10)}, broken="<a>")
    place = str(tmp_path / "index")
    built = build_index(profiles, place, partitions=partitions)
    loaded = load_index(place, spark=spark)
    assert (loaded.partitions, loaded.profiles) == (built.partitions, built.profiles)
    assert rows(loaded.rejected) == rows(built.rejected)
    expected = rows(match(sample, profiles, outcomes=True))
    assert rows(match(sample, loaded, outcomes=True)) == expected
    assert len([row for row in expected if row[0] == "broken"]) == 1


def test_an_index_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no_index"):
        load_index(str(tmp_path), spark=spark)


def test_an_answer_that_arrow_cannot_hold_is_several(
    documents_of: Frames, profiles_of: Frames, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task alone: locations of more than a column's 2 GB are given in parts, here those of more than 20 bytes."""
    files = build_index(profiles_of(p="//b", q="//b/@c", r="/a"), str(tmp_path)).files
    task = match_tasks.MatchDocuments(files, "document_id", "content", (), False)
    contents = ["<a><b c=''/></a>"] * 7
    documents = pa.RecordBatch.from_pydict({"document_id": [f"d{k}" for k in range(7)], "content": contents})
    expected = [row for batch in task([documents]) for row in batch.to_pylist()]
    monkeypatch.setattr(match_tasks, "_MAX_TEXT", 20)
    batches = list(task([documents]))
    assert max(sum(map(len, batch["witness"].to_pylist())) for batch in batches) <= 20
    assert [row for batch in batches for row in batch.to_pylist()] == expected
    assert len(expected) == 21


def test_composes(documents_of: Frames, profiles_of: Frames, tmp_path: Path) -> None:
    sample = documents_of(a="<a/>", b="<b/>", c="<a/>")
    found = match(sample, profiles_of(p="/a", q="/b"))
    found.where("profile_id = 'p'").write.format("delta").save(str(tmp_path / "t"))
    assert sample.sparkSession.read.format("delta").load(str(tmp_path / "t")).count() == 2
    assert rows(found.join(sample, "document_id").groupBy("profile_id").count()) == [("p", 2), ("q", 1)]


@pytest.mark.cluster
@given(seed=st.integers(0, 2**32))
@settings(max_examples=examples(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equals_matcher_and_libxml2(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    named = [(f"d{k}", document(random).encode()) for k in range(20)]
    asked = [(f"p{k}", profile(random)) for k in range(40)] + [("always", "/*")]
    matcher = Matcher(asked)
    expected = sorted(tuple(row) for row in matcher.match(named))
    found = match(
        spark.createDataFrame(named, "document_id string, content binary"),
        spark.createDataFrame(asked, "profile_id string, xpath string"),
    )
    assert rows(found) == expected
    rejected = {row.profile_id for row in matcher.rejected}
    pairs = {(name, profile_id) for name, profile_id, _ in expected}
    for name, content in named:
        tree = etree.fromstring(content)
        for profile_id, xpath in asked:
            if profile_id not in rejected:
                assert ((name, profile_id) in pairs) == tree.xpath(f"boolean({xpath})"), (content, xpath)


@pytest.mark.corpora
def test_real_documents_equal_libxml2(spark: SparkSession, corpora: Path) -> None:
    """Some invoices with all their profiles; nightly all of them."""
    register(spark)
    invoices = spark.read.format("winnow_xml").load(str(corpora / "invoices-800.tar.gz")).where("reason IS NULL")
    with gzip.open(corpora / "invoice-profiles.jsonl.gz", "rt") as lines:
        asked = [json.loads(line) for line in lines]
    columns = "profile_id string, xpath string, namespaces map<string,string>"
    given = [(row["profile_id"], row["xpath"], row.get("namespaces")) for row in asked]
    chosen = invoices if NIGHTLY else invoices.orderBy("document_id").limit(6)
    index = build_index(spark.createDataFrame(given, columns))
    found = set(rows(match(chosen, index), "document_id", "profile_id"))
    rejected = {row.profile_id for row in index.rejected.collect()}
    expected = set()
    for name, content in chosen.select("document_id", "content").collect():
        tree = etree.fromstring(bytes(content))
        for profile_id, xpath, namespaces in given:
            if profile_id not in rejected and tree.xpath(f"boolean({xpath})", namespaces=namespaces or None):
                expected.add((name, profile_id))
    assert found == expected
    assert len(found) > 100
