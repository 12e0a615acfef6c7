"""Read and write Delta tables; every frame that crosses this module is checked against its contract."""

import json
from contextlib import AbstractContextManager
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession

from winnow.errors import DataError
from winnow.lake.contracts import Shape, load_contract, require
from winnow.lake.faults import point
from winnow.lake.locks import table_lock
from winnow.lake.store import open_table


class Lake:
    """One folder or Hadoop path, each table at `<lake>/<table>`."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.path = path

    def location(self, table: str) -> str:
        return f"{self.path}/{table}"

    def lock(self, table: str) -> AbstractContextManager[None]:
        return table_lock(self.path, table)

    def read(self, table: str, *, version: int | None = None) -> DataFrame:
        contract = load_contract(table)
        if open_table(self.path, table) is None:
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


def _columns(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    return tuple(frame.dtypes)
