"""What others do between two steps, and what people do to tables, loses no match and doubles none."""

import shutil
from pathlib import Path

import pytest
from lakes import FIRST, declare, ingest, published, reference, rows, run
from pyspark.sql import SparkSession

from winnow.errors import DataError, TransientError
from winnow.lake.store import open_table, read_rows
from winnow.pipeline import build_index, encode_documents, encode_profiles, join_paths, maintain, match_documents
from winnow.pipeline.match_documents import Pinned
from winnow.pipeline.publish_matches import Config as Publish
from winnow.pipeline.publish_matches import run as publish

pytestmark = pytest.mark.spark

P = {"profile_id": "p", "xpath": "/r/a"}
Q = {"profile_id": "q", "xpath": "//b"}


def bring(spark: SparkSession, lake: str, folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.xml").write_text(text)
        ingest(spark, lake, FIRST, folder / f"{name}.xml")


def encode(spark: SparkSession, lake: str) -> None:
    encode_documents.run(spark, encode_documents.Config(lake=lake, date=FIRST, run_id="other"))


def prepare(spark: SparkSession, lake: str) -> None:
    encode(spark, lake)
    encode_profiles.run(spark, encode_profiles.Config(lake=lake, run_id="t"))
    build_index.run(build_index.Config(lake=lake, run_id="t"))
    join_paths.run(spark, join_paths.Config(lake=lake, run_id="t"))


def check(lake: str, pairs: int) -> None:
    assert published(lake) == reference(lake)
    assert len(published(lake)) == pairs


def test_a_batch_that_came_after_planning_is_left_to_the_next_run(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(lake, tmp_path, [P])
    prepare(spark, lake)
    pinned = Pinned(match_documents.Config(lake=lake, dates=(FIRST,), run_id="t"))
    bring(spark, lake, tmp_path, two="<r><a/><a/></r>")
    encode(spark, lake)
    (interval,) = pinned.plan()
    assert list(interval.batches.values()) == [1]
    run(spark, lake, FIRST)
    check(lake, 2)


def test_a_profile_revived_after_indexing_is_asked_by_the_next_run(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(lake, tmp_path, [P, Q])
    run(spark, lake, FIRST)
    declare(lake, tmp_path, [P])  # q retires, and its branch leaves the index
    bring(spark, lake, tmp_path, two="<r><c><b/></c></r>")
    prepare(spark, lake)
    declare(lake, tmp_path, [P, Q])
    config = match_documents.Config(lake=lake, dates=(FIRST,), run_id="t")
    _, staged = match_documents.run(spark, config)
    for date, version in staged.items():
        publish(Publish(lake=lake, date=date, staged_version=version, run_id="t"))
    run(spark, lake, FIRST)
    check(lake, 2)


def test_maintenance_of_one_table_leaves_the_index_usable(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    declare(lake, tmp_path, [P, Q])
    for name, text in (("one", "<r><a/></r>"), ("two", "<r><c><b/></c></r>"), ("three", "<r><d><b/></d></r>")):
        bring(spark, lake, tmp_path, **{name: text})
        run(spark, lake, FIRST)
    list(maintain.run(maintain.Config(lake=lake, run_id="t", tables=("path_branches",))))
    assert len(open_table(lake, "path_branches").file_uris()) == 1  # type: ignore[union-attr]
    bring(spark, lake, tmp_path, four="<r><d><b/><b/></d></r>")  # of known paths
    run(spark, lake, FIRST)
    check(lake, 4)


def test_the_first_error_is_the_one_that_is_told(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        run(spark, str(tmp_path / "nowhere"), FIRST)
    assert error.value.code == "table_missing"


def test_documents_encoded_anew_are_answered_once(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    declare(lake, tmp_path, [P, Q])
    for name, text in (("one", "<r><a/></r>"), ("two", "<r><c><b/></c></r>")):
        bring(spark, lake, tmp_path, **{name: text})
        run(spark, lake, FIRST)
    for table in ("encoded_documents", "path_documents"):
        shutil.rmtree(Path(lake, table))
    run(spark, lake, FIRST)
    check(lake, 2)


def test_documents_are_in_one_batch_whoever_encodes_them(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    bring(spark, lake, tmp_path, one="<r><a/></r>", two="<r><c/></r>")
    encode(spark, lake)
    known = read_rows(lake, "encoded_documents")
    (batch,) = set(known.column("batch").to_pylist())
    ids = known.column("document_id")
    assert not encode_documents._is_unencoded(lake, FIRST, batch, ids)
    with pytest.raises(TransientError):
        encode_documents._is_unencoded(lake, FIRST, "another", ids.slice(1))


def test_an_index_that_cannot_be_read_is_built_anew(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(lake, tmp_path, [P])
    run(spark, lake, FIRST)
    for file in Path(lake, "envelope_nodes").rglob("*.parquet"):
        file.unlink()
    declare(lake, tmp_path, [P, Q])
    bring(spark, lake, tmp_path, two="<r><c><b/></c></r>")
    run(spark, lake, FIRST)
    check(lake, 2)


def test_an_index_that_was_deleted_is_joined_anew(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    bring(spark, lake, tmp_path, one="<r><a/></r>", two="<r><c><b/></c></r>")
    for profiles in ([P], [P, {"profile_id": "r", "xpath": "/r"}]):
        declare(lake, tmp_path, profiles)
        run(spark, lake, FIRST)
    for table in ("envelope_nodes", "index_partitions"):
        shutil.rmtree(Path(lake, table))
    declare(lake, tmp_path, [P, Q, {"profile_id": "r", "xpath": "/r"}])
    run(spark, lake, FIRST)
    check(lake, 4)


def test_a_document_without_a_place_is_told(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(lake, tmp_path, [P])
    open_table(lake, "document_sources").delete()  # type: ignore[union-attr]
    with pytest.raises(Exception, match="no place in document_sources"):
        run(spark, lake, FIRST)
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    run(spark, lake, FIRST)
    check(lake, 1)


def test_a_lake_may_have_any_name(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "my läke #1")
    bring(spark, lake, tmp_path, one="<r><a/></r>")
    declare(lake, tmp_path, [P])
    run(spark, lake, FIRST)
    declare(lake, tmp_path, [P, Q, {"profile_id": "v", "xpath": "/r[a = '']"}])
    bring(spark, lake, tmp_path, two="<r><b>x</b></r>")
    run(spark, lake, FIRST)
    assert len(rows(lake, "matches")) == 3
    check(lake, 3)


def test_encodings_that_were_deleted_are_made_anew(spark: SparkSession, lake: str, tmp_path: Path) -> None:
    bring(spark, lake, tmp_path, one="<r><a/><b>1</b></r>", two="<r><b>2</b></r>")
    declare(lake, tmp_path, [P])
    run(spark, lake, FIRST)
    for table in ("encoded_documents", "path_documents"):
        shutil.rmtree(Path(lake, table))
    declare(lake, tmp_path, [P, {**Q, "xpath": "//b[. > 1]"}])
    reports = run(spark, lake, FIRST)
    assert reports["match_documents"].counts["profiles asked"] == 1  # the batch is the same, so P was answered
    check(lake, 2)
