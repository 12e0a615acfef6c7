"""Read and write Delta tables; every frame that crosses this module is checked against its contract."""

import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession

from winnow.errors import DataError
from winnow.lake.contracts import Contract, Shape, load_contract, require
from winnow.lake.faults import point
from winnow.lake.locks import table_lock

DEFAULT_LAKE = ".winnow/lake"


def lake_path(given: str | None) -> str:
    """`--lake`, else WINNOW_LAKE, else .winnow/lake; absolute, so that workers agree on it.

    >>> lake_path("s3a://bucket/lake/")
    's3a://bucket/lake'
    """
    path = (given or os.environ.get("WINNOW_LAKE") or DEFAULT_LAKE).rstrip("/")
    return path if "://" in path else str(Path(path).absolute())


class TableState(NamedTuple):
    table: str
    version: int
    rows: int
    files: int
    size_bytes: int


class Lake:
    """One folder or Hadoop path, each table at `<lake>/<table>`."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.path = path

    def location(self, table: str) -> str:
        return f"{self.path}/{table}"

    def exists(self, table: str) -> bool:
        return bool(DeltaTable.isDeltaTable(self.spark, self.location(table)))

    def lock(self, table: str) -> AbstractContextManager[None]:
        return table_lock(self.path, table)

    def ensure(self, tables: Iterable[str]) -> None:
        """Create what is missing. Safe to repeat and, under the table's lock, to race."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(self._ensure, tables))

    def _ensure(self, table: str) -> None:
        contract = load_contract(table)
        with self.lock(table):
            if self.exists(table):
                self._require_stored(contract)
                return
            create = DeltaTable.createIfNotExists(self.spark).location(self.location(table))
            create = create.comment(contract.description).partitionedBy(*contract.partition_by)
            for column in contract.columns:
                create = create.addColumn(
                    column.name, column.type, nullable=column.nullable, comment=column.description
                )
            for name, value in contract.all_properties.items():
                create = create.property(name, value)
            create.execute()

    def _require_stored(self, contract: Contract) -> None:
        table = DeltaTable.forPath(self.spark, self.location(contract.table))
        detail = table.detail().select("partitionColumns", "properties").first()
        assert detail is not None
        shape = Shape(_columns(table.toDF()), tuple(detail["partitionColumns"]), dict(detail["properties"]))
        require(contract, shape, what=f"table {self.location(contract.table)}")

    def read(self, table: str, *, version: int | None = None) -> DataFrame:
        contract = load_contract(table)
        if not self.exists(table):
            raise DataError(
                "table_missing",
                f"there is no table {table} in the lake {self.path}",
                hint="is --lake right? `winnow status` shows what is there",
            )
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        frame = reader.load(self.location(table))
        require(contract, Shape(_columns(frame)), what=f"table {self.location(table)}")
        return frame

    def append(self, table: str, frame: DataFrame, *, run: dict[str, Any]) -> None:
        self._writer(table, frame, run).mode("append").save(self.location(table))
        point(f"{table} written")

    def replace(self, table: str, frame: DataFrame, *, where: str, run: dict[str, Any]) -> None:
        """Replace the rows that satisfy `where` by the frame, in one commit; an empty frame still replaces."""
        self._writer(table, frame, run).mode("overwrite").option("replaceWhere", where).save(self.location(table))

    def upsert(
        self, table: str, frame: DataFrame, *, run: dict[str, Any], delete_missing: Column | None = None
    ) -> None:
        """Insert or update by the contract's key in one commit; rows of `delete_missing` that the frame lacks go."""
        contract = load_contract(table)
        require(contract, Shape(_columns(frame)), what=f"the frame for {table}")
        same_key = " and ".join(f"old.`{name}` = new.`{name}`" for name in contract.key)
        target = DeltaTable.forPath(self.spark, self.location(table)).alias("old")
        merge = target.merge(frame.alias("new"), same_key).whenMatchedUpdateAll().whenNotMatchedInsertAll()
        if delete_missing is not None:
            merge = merge.whenNotMatchedBySourceDelete(delete_missing)
        self.spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", json.dumps(run, sort_keys=True))
        try:
            merge.execute()
        finally:
            self.spark.conf.unset("spark.databricks.delta.commitInfo.userMetadata")

    def _writer(self, table: str, frame: DataFrame, run: dict[str, Any]) -> Any:
        contract = load_contract(table)
        require(contract, Shape(_columns(frame)), what=f"the frame for {table}")
        return frame.write.format("delta").option("userMetadata", json.dumps(run, sort_keys=True))

    def version(self, table: str) -> int:
        row = DeltaTable.forPath(self.spark, self.location(table)).history(1).select("version").first()
        assert row is not None
        return int(row["version"])

    def state(self, table: str) -> TableState:
        target = DeltaTable.forPath(self.spark, self.location(table))
        detail = target.detail().select("numFiles", "sizeInBytes").first()
        assert detail is not None
        rows = target.toDF().count()
        return TableState(table, self.version(table), rows, detail["numFiles"], detail["sizeInBytes"])


def _columns(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    return tuple(frame.dtypes)
