"""Read and write Delta tables; every frame that crosses this module is checked against its contract."""

import json
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from winnow.lake.contracts import Shape, load_contract, require
from winnow.lake.faults import point
from winnow.lake.locks import table_lock
from winnow.lake.store import require_table


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
        require_table(self.path, table)
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

    def _writer(self, table: str, frame: DataFrame, run: dict[str, Any]) -> Any:
        contract = load_contract(table)
        require(contract, Shape(_columns(frame)), what=f"the frame for {table}")
        return frame.write.format("delta").option("userMetadata", json.dumps(run, sort_keys=True))


def _columns(frame: DataFrame) -> tuple[tuple[str, str], ...]:
    return tuple(frame.dtypes)
