"""The tables of a lake in one session: created from their contracts, read at versions, written exactly once."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as sf

from winnow.errors import DataError, TransientError, UsageError
from winnow.tables.contract import Contract, column_types, contract, contract_broken, quoted, table_names
from winnow.tables.faults import point
from winnow.tables.lake import Lake
from winnow.tables.small import read_one, read_small
from winnow.tables.traffic import note_read, note_written
from winnow.tables.transactions import Transaction, is_conflict, retried
from winnow.tables.writers import only_writer

_MISSING = {"PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST"}
MAX_BROADCAST_KEYS = 200_000  # about 20 MB
_EXISTS = ("DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION", "TABLE_OR_VIEW_ALREADY_EXISTS")
Answer = TypeVar("Answer")


class Tables:
    """Reads and writes the tables of `lake`; each is checked against its contract when it is first used."""

    def __init__(self, spark: SparkSession, lake: Lake) -> None:
        self.spark, self.lake = spark, lake
        self._checked: set[str] = set()

    def create(self, *names: str) -> None:
        """Makes the tables that are missing. Of two first writers the slower one finds the table and checks it."""
        for name, is_there in _side_by_side(self.exists, names).items():
            if not is_there:
                self._create(contract(name))

    def exists(self, name: str) -> bool:
        if name in self._checked:
            return True
        try:
            schema = self.spark.table(self.lake.table(name)).schema
        except AnalysisException as error:
            if error.getCondition() in _MISSING:
                return False
            raise
        problems = contract(name).discrepancies(column_types(schema))
        if problems:
            raise contract_broken(contract(name), f"table {self.lake.table(name)}", problems, self._properties(name))
        self._checked.add(name)
        return True

    def located(self) -> Lake:
        """Returns the lake with the places of its tables, for readers that know no catalog: delta-rs and DuckDB."""
        if not self.lake.is_catalog:
            return self.lake
        listed = {row["tableName"] for row in read_small(self.spark.sql(f"SHOW TABLES IN {self.lake.location}"))}
        return replace(self.lake, table_places=_side_by_side(self.place, sorted(listed & set(table_names()))))

    def place(self, name: str) -> str:
        """Returns where the files of a table are."""
        if not self.lake.is_catalog:
            return f"{self.lake.location}/{name}"
        detail = self.spark.sql(f"DESCRIBE DETAIL {self.lake.table(name)}").select("location")
        return str(read_one(detail)["location"]).removeprefix("file:")

    def _properties(self, name: str) -> dict[str, str]:
        listed = self.spark.sql(f"SHOW TBLPROPERTIES {self.lake.table(name)}")
        return {row["key"]: row["value"] for row in read_small(listed)}

    def read(self, name: str, *, version: int | None = None, interval: dt.date | None = None) -> DataFrame:
        """Returns the rows of a table at a version, of one interval if it is partitioned by date.

        Raises:
            DataError: there is no such table, or it does not fit its contract.
        """
        if not self.exists(name):
            raise DataError(
                "table_missing", f"no table {name} in {self.lake.location}", hint="run the job that writes it first"
            )
        note_read(name, version)
        reader = self.spark.read if version is None else self.spark.read.option("versionAsOf", version)
        rows = reader.table(self.lake.table(name))
        return rows if interval is None else rows.where(sf.col(_date_column(contract(name))) == sf.lit(interval))

    def version(self, name: str) -> int:
        return int(read_one(self.spark.sql(f"DESCRIBE HISTORY {self.lake.table(name)} LIMIT 1"))["version"])

    def versions(self, *names: str) -> dict[str, int]:
        """What a job pins before it reads: the versions that are newest now."""
        return _side_by_side(self.version, names)

    def append(self, name: str, rows: DataFrame, transaction: Transaction) -> None:
        """Adds rows whose keys cannot be there yet, once for a transaction."""
        self._write(name, rows, transaction, lambda writer: writer.append())

    def replace_interval(self, name: str, rows: DataFrame, interval: dt.date, transaction: Transaction) -> None:
        """Makes these rows the whole content of an interval, in one commit, once for a transaction."""
        is_own = sf.col(_date_column(contract(name))) == sf.lit(interval)
        self._write(name, rows, transaction, lambda writer: writer.overwrite(is_own))

    def replace(self, name: str, rows: DataFrame, transaction: Transaction) -> None:
        """Makes these rows the whole content of a table that is small, once for a transaction."""
        self._write(name, rows, transaction, lambda writer: writer.overwrite(sf.lit(True)))

    def _write(
        self, name: str, rows: DataFrame, transaction: Transaction, write: Callable[[DataFrameWriterV2], None]
    ) -> None:
        conforming = self._conforming(name, rows)

        def commit() -> None:
            with self._only_writer(name):
                point(f"{name} unwritten")
                write(conforming.writeTo(self.lake.table(name)).options(**transaction.options))

        retried(commit, table=name)
        note_written(name)
        point(f"{name} written")

    def append_new(self, name: str, rows: DataFrame) -> int:
        """Adds the rows whose key is not there yet; returns how many.

        It is an insert-only MERGE, so it can be made again, and of two writers of one key one reads again. MERGE sorts
        the whole table and keeps a copy of the rows: for tables that grow with documents there is `append_unknown`.
        """
        same = " AND ".join(f"t.`{column}` = s.`{column}`" for column in contract(name).key)
        return self.merge(name, rows, on=same, clauses="WHEN NOT MATCHED THEN INSERT *")

    def append_unknown(self, name: str, rows: DataFrame) -> int:
        """Adds the rows whose key is not there yet, however long the table is; returns how many.

        The keys of `rows` are distinct, and read first, so they should be stored. History is cut down to those that
        come again by a semi-join, which takes about 0.6 s a million known keys.
        """
        key = list(contract(name).key)
        new_keys = rows.select(*key)
        self.create(name)
        count = new_keys.count()
        if count <= MAX_BROADCAST_KEYS:
            new_keys = sf.broadcast(new_keys)

        def commit() -> int:
            version = self.version(name)
            known = self.read(name, version=version).select(*key).join(new_keys, key, "left_semi").persist()
            try:
                if known.count() == count:
                    return 0  # an append of nothing would be a commit, too, since it has a transaction
                return self.append_after(name, version, rows.join(known, key, "left_anti"))
            finally:
                known.unpersist()

        return retried(commit, table=name)

    def append_after(self, name: str, version: int, rows: DataFrame, *, interval: dt.date | None = None) -> int:
        """Adds rows whose keys the table, or its interval, did not have at `version`; returns how many.

        All who add keys share one transaction name, whose number is that of the version which they have seen. So Delta
        skips the slower one of two that have seen the same version, or reports it, and it looks again.

        Raises:
            TransientError: others have added keys since; nothing was written.
        """
        conforming = self._conforming(name, rows)
        transaction = Transaction(f"{name}/{interval or 'all'}/keys", version + 1)
        mark = f"{transaction.name}/{uuid.uuid4().hex}"
        with self._only_writer(name):
            point(f"{name} unwritten")
            if not self._additions(name, transaction, version):
                options = {**transaction.options, "userMetadata": mark}
                conforming.writeTo(self.lake.table(name)).options(**options).append()
            added = self._additions(name, transaction, version)
        note_written(name)
        point(f"{name} written")
        if added and mark not in added:
            raise TransientError("table_moved", f"others have added to {name} meanwhile", hint="look again what is new")
        return added.get(mark, 0)

    def _additions(self, name: str, transaction: Transaction, version: int) -> dict[str, int]:
        """Returns how many rows each use of a transaction name has added since a version, by its mark."""
        commits = self.version(name) - version
        if not commits:
            return {}
        history = self.spark.sql(f"DESCRIBE HISTORY {self.lake.table(name)} LIMIT {commits}")
        own = history.where(sf.col("userMetadata").startswith(f"{transaction.name}/"))
        rows = read_small(own.select("userMetadata", "operationMetrics"))
        return {row["userMetadata"]: int(row["operationMetrics"]["numOutputRows"]) for row in rows}

    def merge(self, name: str, rows: DataFrame, *, on: str, clauses: str) -> int:
        """Merges rows `s` into the table `t`; returns how many rows of the table were made, changed or removed."""
        return self._merge(name, self._conforming(name, rows), on=on, clauses=clauses)

    def delete_keys(self, name: str, keys: DataFrame) -> int:
        """Removes the rows whose key is one of `keys`; returns how many. Removing them again changes nothing."""
        on = " AND ".join(f"t.`{column}` = s.`{column}`" for column in contract(name).key)
        return self._merge(name, keys.select(*contract(name).key), on=on, clauses="WHEN MATCHED THEN DELETE")

    def _merge(self, name: str, rows: DataFrame, *, on: str, clauses: str) -> int:
        source = f"winnow_{name}_{uuid.uuid4().hex}"
        statement = f"MERGE INTO {self.lake.table(name)} t USING {source} s ON {on} {clauses}"

        def commit() -> int:
            with self._only_writer(name):
                point(f"{name} unwritten")
                return int(read_one(self.spark.sql(statement))["num_affected_rows"])

        rows.createOrReplaceTempView(source)
        try:
            changed = retried(commit, table=name)
        finally:
            self.spark.catalog.dropTempView(source)
        note_written(name)
        point(f"{name} written")
        return changed

    def delete(self, name: str, where: str) -> None:
        """Removes the rows of a condition; removing them again changes nothing."""

        def commit() -> None:
            with self._only_writer(name):
                read_one(self.spark.sql(f"DELETE FROM {self.lake.table(name)} WHERE {where}"))

        retried(commit, table=name)
        note_written(name)
        point(f"{name} deleted")

    def optimize(self, name: str) -> None:
        """Merges small files; no row changes."""
        self._maintain(name, f"OPTIMIZE {self.lake.table(name)}")

    def vacuum(self, name: str, retention_hours: int) -> None:
        """Removes files that no version of so many hours names."""
        self._maintain(name, f"VACUUM {self.lake.table(name)} RETAIN {retention_hours} HOURS")

    def _maintain(self, name: str, statement: str) -> None:
        def commit() -> None:
            with self._only_writer(name):
                self.spark.sql(statement)

        retried(commit, table=name)
        note_written(name)

    def _only_writer(self, name: str) -> AbstractContextManager[None]:
        return only_writer(self.spark, self._commit_place, name, self.lake.filesystem_options)

    @cached_property
    def _commit_place(self) -> str:
        """Where the tables of the lake are put; nowhere that is known, if its catalog does not tell."""
        if not self.lake.is_catalog:
            return self.lake.location
        described = self.spark.sql(f"DESCRIBE SCHEMA EXTENDED {self.lake.location}")
        place = next((str(row[1]) for row in read_small(described) if row[0] == "Location"), "")
        if place.startswith("file:"):
            return place.removeprefix("file:")
        return place if "://" in place or place.startswith("/") else ""  # dbfs:/… and its like are no folders here

    def _conforming(self, name: str, rows: DataFrame) -> DataFrame:
        contract(name).require(rows.schema, what=f"what is to be written to {name}")
        self.create(name)
        return rows.select(*contract(name).names)

    def _create(self, wanted: Contract) -> None:
        if self.lake.is_catalog:
            self.spark.sql(f"CREATE SCHEMA IF NOT EXISTS {self.lake.location}")
        partitioned = f"PARTITIONED BY ({_listed(wanted.partition_by)})" if wanted.partition_by else ""
        statement = (
            f"CREATE TABLE IF NOT EXISTS {self.lake.table(wanted.table)} ({wanted.ddl}) USING DELTA {partitioned}"
            f" COMMENT {quoted(wanted.description)} TBLPROPERTIES ({_properties(wanted.all_properties)})"
        )
        try:
            with self._only_writer(wanted.table):
                self.spark.sql(statement)
        except Exception as error:
            if not (is_conflict(error) or any(word in str(error) for word in _EXISTS)):
                raise
        if not self.exists(wanted.table):
            raise UsageError(
                "table_not_created", f"{self.lake.table(wanted.table)} could not be made", hint="try again"
            )


def _side_by_side(ask: Callable[[str], Answer], names: Sequence[str]) -> dict[str, Answer]:
    """Returns what is said of each table: all are asked at once, since a log takes a tenth of a second to answer."""
    if len(names) < 2:
        return {name: ask(name) for name in names}
    with ThreadPoolExecutor(len(names)) as threads:
        return dict(zip(names, threads.map(ask, names), strict=True))


def _date_column(of: Contract) -> str:
    """The column that holds the interval; a fault of the program if the table has none."""
    return next(name for name in of.partition_by if name.endswith("_date"))


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{quoted(name)} = {quoted(value)}" for name, value in properties.items())


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
