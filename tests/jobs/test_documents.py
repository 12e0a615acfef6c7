"""Documents as they arrive and as they are encoded: nothing twice, nothing lost, every row on its own."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from winnow.index.packed import unpack
from winnow.jobs import encode_documents, ingest_documents
from winnow.tables import Tables, contract
from winnow.tables.small import read_small

from .slow import nightly

pytestmark = pytest.mark.spark
DAY, NEXT = dt.date(2026, 11, 15), dt.date(2026, 11, 16)


def ingest(tables: Tables, folder: Path, date: dt.date = DAY, **options: str) -> dict[str, int]:
    config = ingest_documents.Config(lake=tables.lake, paths=(str(folder),), date=date, options=options)
    return ingest_documents.run(tables.spark, config).counts


def encode(tables: Tables, date: dt.date = DAY, run_id: str = "run") -> dict[str, int]:
    config = encode_documents.Config(lake=tables.lake, date=date, run_id=run_id)
    return encode_documents.run(tables.spark, config).counts


def write(folder: Path, **contents: str | bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}.xml").write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "in", a="<a><b/></a>", again="<a><b/></a>", c="<c x='1'/>", bad="<a>")


def test_documents_sources_and_quarantine(tables: Tables, folder: Path) -> None:
    assert ingest(tables, folder) == {
        "read": 4, "stored": 2, "duplicates": 1, "quarantined": 1, "quarantined: malformed": 1,
    }  # fmt: skip
    assert tables.read("document_sources").count() == 3
    assert [row.reason for row in read_small(tables.read("quarantine"))] == ["malformed"]
    assert tables.read("arrivals").count() == 0


def test_ingesting_again_changes_nothing(tables: Tables, folder: Path) -> None:
    ingest(tables, folder)
    derived = ingest_documents.DERIVED
    before = {name: sorted(map(str, tables.read(name).collect())) for name in derived}
    assert ingest(tables, folder)["stored"] == 0
    assert ingest(tables, folder, NEXT)["stored"] == 0
    assert {name: sorted(map(str, tables.read(name).collect())) for name in derived} == before


def test_a_row_needs_no_other_row(spark: SparkSession, tables: Tables, folder: Path) -> None:
    ingest(tables, folder)
    documents = tables.read("documents")
    together = {row.document_id: row for row in encode_documents.encode(documents, DAY, "x").collect()}
    for name, row in together.items():
        alone = encode_documents.encode(documents.where(f"document_id = '{name}'"), DAY, "x").collect()
        assert alone == [row]
    assert len(together) == 2


def test_a_document_is_encoded_once_and_its_paths_are_known(tables: Tables, folder: Path) -> None:
    ingest(tables, folder)
    assert encode(tables) == {"documents": 2, "encoded": 2, "new paths": 4}
    assert encode(tables, run_id="again") == {"documents": 2, "encoded": 0, "new paths": 0}
    ingest(tables, write(folder, late="<a><d/></a>"))
    assert encode(tables, run_id="late") == {"documents": 3, "encoded": 1, "new paths": 1}
    rows = {row.path: (row.label, row.depth) for row in read_small(tables.read("paths"))}
    assert rows == {"/a": ("a", 1), "/a/b": ("b", 2), "/c": ("c", 1), "/c/@x": ("@x", 2), "/a/d": ("d", 2)}


def test_nodes_are_places_among_the_paths_of_their_document(spark: SparkSession) -> None:
    contents = {"one": b"<r a='1'><b/><b><c/></b></r>", "other": b"<r><c/></r>"}
    documents = spark.createDataFrame(
        [(name, bytearray(content), "utf-8") for name, content in contents.items()],
        "document_id string, content binary, encoding string",
    )
    encoded = encode_documents.encode(documents.coalesce(1), DAY, "x")
    shown = {row.path_id: row.path for row in read_small(known_paths(encoded))}
    nodes = {row.document_id: [shown[row.paths[place]] for place in unpacked(row.nodes)] for row in read_small(encoded)}
    assert nodes == {"one": ["/r", "/r/@a", "/r/b", "/r/b", "/r/b/c"], "other": ["/r", "/r/c"]}
    assert sorted(shown.values()) == ["/r", "/r/@a", "/r/b", "/r/b/c", "/r/c"]


def known_paths(encoded: DataFrame) -> DataFrame:
    """The table `paths` of these documents alone."""
    none = encoded.sparkSession.createDataFrame([], contract("paths").row_type)
    return encode_documents.new_paths(encoded, none)


def unpacked(packed: bytes) -> list[int]:
    numbers, _ = unpack(pa.array([bytes(packed)], pa.binary()))
    return numbers.tolist()


def test_what_the_encoder_refuses_becomes_a_row_and_the_others_go_on(tables: Tables, folder: Path) -> None:
    ingest(tables, folder)
    stored = tables.read("documents").where("root = 'a'").selectExpr(
        "repeat('0', 64) AS document_id", "cast('<a>' AS binary) AS content", "3L AS size_bytes", "encoding", "root",
        "ingest_date",
    )  # fmt: skip
    tables.append_new("documents", stored)
    place = ("repeat('0', 64) AS document_id", "'old' AS source", "'' AS member", "0L AS record", "ingest_date")
    tables.append_new("document_sources", stored.selectExpr(*place))
    assert encode(tables) == {"documents": 3, "encoded": 2, "new paths": 4, "quarantined": 1}
    assert {row.source: row.reason for row in read_small(tables.read("quarantine"))}["old"] == "malformed"
    assert [tables.read(name).count() for name in ("documents", "encoded_documents")] == [2, 2]
    assert encode(tables) == {"documents": 2, "encoded": 0, "new paths": 0}


class KilledError(Exception):
    pass


@pytest.mark.parametrize("fault", ["encoded_documents written", pytest.param("paths unwritten", marks=nightly)])
def test_an_encoding_that_was_killed_is_finished(
    tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Every document is encoded by then; what follows from them is not there."""

    def point(name: str) -> None:
        if name == fault:
            raise KilledError

    ingest(tables, write(tmp_path / "in", a="<a><b/></a>"))
    with monkeypatch.context() as patch:
        patch.setattr("winnow.tables.tables.point", point)
        with pytest.raises(KilledError):
            encode(tables, run_id="killed")
    assert encode(tables, run_id="next") == {"documents": 1, "encoded": 0, "new paths": 2}
    version = tables.version("paths")
    assert encode(tables, run_id="last") == {"documents": 1, "encoded": 0, "new paths": 0}
    assert tables.version("paths") == version
