"""How should `matches` lie on disk? Orders and statistics, beside what they cost to write.

Three questions are asked of some dates: all matches of a destination, of a profile, of a document. For each layout it
is stated what share of the table's bytes statistics let through, by file and by row group, and what the question takes
in Spark and in DuckDB.
"""

import datetime as dt
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.tables import Lake, Transaction, contract
from winnow.tables.tables import Tables

FIRST = dt.date(2026, 11, 1)
MATCHES = 32  # a document
PROFILES, DESTINATIONS = 100_000, 200
ORDER = ("destination", "profile_id")
ROUNDS = 3


@dataclass(frozen=True)
class Layout:
    """How rows are ordered within a task, how many go to a file, and on which columns there are statistics."""

    order: tuple[str, ...] = ()
    file_rows: int = 0
    statistics: str = ""  # all columns
    z_order: tuple[str, ...] = ()


KEYS = "destination,profile_id,document_id,match_date"
LAYOUTS = {
    "as found": Layout(),
    "as found, statistics of keys": Layout(statistics=KEYS),
    "as found, statistics of document_id": Layout(statistics="document_id"),
    "by destination and profile": Layout(order=ORDER, statistics=KEYS),
    "by destination and profile, files of 250,000 rows": Layout(order=ORDER, statistics=KEYS, file_rows=250_000),
    "by document, files of 250,000 rows": Layout(order=("document_id",), statistics=KEYS, file_rows=250_000),
    "z-order, files of 8 MB": Layout(statistics=KEYS, z_order=(*ORDER, "document_id")),
}


def run(folder: Path, *, documents: int, dates: int, master: str) -> dict[str, Any]:
    """Returns, for each layout, seconds to write a date and what each question reads and takes."""
    from winnow.query.database import connect
    from winnow.tables.session import open_session

    spark = open_session(master=master)
    result: dict[str, Any] = {"documents": documents, "dates": dates, "matches": documents * dates * MATCHES}
    result |= {name: {} for name in LAYOUTS}
    places = {name: folder / f"layout-{number}" for number, name in enumerate(LAYOUTS)}
    for place in places.values():
        shutil.rmtree(place, ignore_errors=True)
    for number in range(dates):  # all layouts of a date, so that slow minutes are shared
        date = FIRST + dt.timedelta(days=number)
        rows = made_matches(spark, documents, date).persist()
        rows.count()
        for name, layout in LAYOUTS.items():
            seconds = _timed(lambda: _write(Lake(str(places[name].absolute())).open(spark), layout, rows, date))  # noqa: B023
            result[name]["write_seconds"] = result[name].get("write_seconds", 0.0) + seconds
        rows.unpersist()
    for name, layout in LAYOUTS.items():
        table = places[name].absolute() / "matches"
        if layout.z_order:
            spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(8 << 20))
            statement = f"OPTIMIZE delta.`{table}` ZORDER BY ({', '.join(layout.z_order)})"
            result[name]["optimize_seconds"] = _timed(lambda: spark.sql(statement).collect())  # noqa: B023
        result[name]["megabytes"] = sum(size for _, size in _files(table)) / 1e6
        result[name]["files"] = len(_files(table))
        for question, values in _questions(spark, documents).items():
            where = " AND ".join(f"{column} = '{value}'" for column, value in values.items())
            with connect(Lake(str(places[name].absolute()))) as database:
                by_duckdb = _median(lambda: database.execute(f"SELECT count(*) FROM matches WHERE {where}").fetchall())  # noqa: B023
            by_spark = _median(lambda: spark.read.format("delta").load(str(table)).where(where).count())  # noqa: B023
            result[name][question] = {**_shares(table, values), "duckdb_seconds": by_duckdb, "spark_seconds": by_spark}
    return result


def made_matches(spark: SparkSession, documents: int, date: dt.date) -> DataFrame:
    """Returns matches of a date in the order in which documents are matched."""
    document = sf.sha2(sf.concat(sf.lit(f"{date}/"), sf.col("id").cast("string")), 256)
    numbered = spark.range(documents).select(document.alias("document_id"), sf.col("id").alias("n"))
    pairs = numbered.withColumn("k", sf.explode(sf.sequence(sf.lit(1), sf.lit(MATCHES))))
    profile = sf.pmod(sf.xxhash64("document_id", "k"), sf.lit(PROFILES))
    return (
        pairs.withColumn("profile", profile)
        .selectExpr(
            "document_id",
            "concat('/landing/part-', n % 10, '.tar.gz!', n, '.xml') AS source",
            "concat('p', profile) AS profile_id",
            "1 AS profile_version",
            "concat('s', profile % 1000) AS subscriber",
            f"concat('d', profile % {DESTINATIONS}) AS destination",
            "concat('/n1/n', profile % 7, '[1]/n', profile % 31, '[', k % 3 + 1, ']') AS witness",
            "'bench' AS run_id",
            f"DATE'{date}' AS match_date",
        )
        .select(*contract("matches").names)
    )


def _write(tables: Tables, layout: Layout, rows: DataFrame, date: dt.date) -> None:
    if not tables.exists("matches"):
        tables.create("matches")
        if layout.statistics:
            statement = f"ALTER TABLE {tables.lake.table('matches')} SET TBLPROPERTIES"
            tables.spark.sql(f"{statement} ('delta.dataSkippingStatsColumns' = '{layout.statistics}')")
    ordered = rows.sortWithinPartitions(*layout.order) if layout.order else rows
    if layout.file_rows:
        tables.spark.conf.set("spark.sql.files.maxRecordsPerFile", str(layout.file_rows))
    try:
        tables.append("matches", ordered, Transaction(f"layout/{date}"))
    finally:
        tables.spark.conf.unset("spark.sql.files.maxRecordsPerFile")


def _questions(spark: SparkSession, documents: int) -> dict[str, dict[str, str]]:
    some = made_matches(spark, documents, FIRST).limit(1).collect()[0]
    return {
        "destination": {"destination": "d7"},
        "profile": {"profile_id": "p4711"},
        "document": {"document_id": some.document_id},
        "document of a date": {"document_id": some.document_id, "match_date": str(FIRST)},
    }


def _files(table: Path) -> list[tuple[str, int]]:
    actions = deltalake.DeltaTable(str(table)).get_add_actions(flatten=True)
    columns = {name: actions.column(name).to_pylist() for name in ("path", "size_bytes")}
    return list(zip(columns["path"], columns["size_bytes"], strict=True))


def _shares(table: Path, values: Mapping[str, str]) -> dict[str, float]:
    """Returns what share of the bytes lies in files, and in row groups, that minima and maxima do not rule out."""
    total = files = groups = 0
    for path, size in _files(table):
        total += size
        day = values.get("match_date")
        if day and f"match_date={day}" not in path:
            continue
        metadata = pq.ParquetFile(table / path).metadata
        sizes = [
            sum(metadata.row_group(g).column(c).total_compressed_size for c in range(metadata.num_columns))
            for g in range(metadata.num_row_groups)
            if _may_hold(metadata.row_group(g), values)
        ]
        groups += sum(sizes)
        files += size if sizes else 0
    return {"share_of_files": files / total, "share_of_row_groups": groups / total}


def _may_hold(group: Any, values: Mapping[str, str]) -> bool:
    for number in range(group.num_columns):
        column = group.column(number)
        wanted = values.get(column.path_in_schema)
        if wanted is not None and not column.statistics.min <= wanted <= column.statistics.max:
            return False
    return True


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _median(work: Callable[[], object]) -> float:
    return sorted(_timed(work) for _ in range(ROUNDS))[ROUNDS // 2]
