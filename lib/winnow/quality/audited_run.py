"""The run that is audited: what it staged, what it was to ask, and the tables as it has read them."""

import datetime as dt
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from winnow.ledger import Mode
from winnow.quality.audited_index import AuditedIndex
from winnow.quality.files import file_findings
from winnow.quality.finding import Finding
from winnow.tables import Tables, contract

if TYPE_CHECKING:
    from winnow.quality.oracle import Agreement


@dataclass(frozen=True, kw_only=True)
class AuditedRun:
    """A row of `runs`, and the frames that the expectations are about.

    `asked` are the profiles that the interval was to be asked: profile_key, profile_id, class, xpath, namespaces,
    ordered, xpath_id, and is_recent, which says that documents of earlier batches were asked it, too. `published` are
    the rows that publication would add, and `kept` those that are published already and would stay beside them.
    `encode` makes rows of encoded_documents of documents.
    """

    tables: Tables
    row: Mapping[str, Any]
    asked: DataFrame
    published: DataFrame
    kept: DataFrame
    encode: Callable[[DataFrame], DataFrame]
    index: AuditedIndex
    sample: int  # pairs that libxml2 evaluates
    seed: int = 0

    @property
    def spark(self) -> SparkSession:
        return self.tables.spark

    @property
    def date(self) -> dt.date:
        date: dt.date = self.row["match_date"]
        return date

    @property
    def mode(self) -> Mode:
        return Mode(self.row["mode"])

    @property
    def versions(self) -> Mapping[str, int]:
        """The versions of the tables that the run has read, and of the one that it wrote."""
        return {**self.index.versions, **self.row["inputs"], "matches_staged": self.row["staged_version"]}

    @property
    def is_routed(self) -> bool:
        """Whether documents met only those partitions of the profiles that their labels name."""
        return "index_partitions" in self.row["inputs"]

    def read(self, table: str) -> DataFrame:
        """Returns a table as the run has read it: its interval, where the table has intervals."""
        has_dates = any(name.endswith("_date") for name in contract(table).partition_by)
        return self.tables.read(table, version=self.versions.get(table), interval=self.date if has_dates else None)

    @property
    def stage(self) -> DataFrame:
        return self.read("matches_staged").where(sf.col("run_id") == self.row["run_id"])

    @property
    def encoded(self) -> DataFrame:
        """The documents of the run's batches."""
        return self.read("encoded_documents").where(
            sf.col("batch").isin([*self.row["batches"], *self.row["new_batches"]])
        )

    @property
    def asked_documents(self) -> DataFrame:
        """Documents that were asked, with is_new: those of batches that were never asked before."""
        is_new = sf.col("batch").isin(list(self.row["new_batches"]))
        asked = self.encoded.where("refused IS NULL").withColumn("is_new", is_new)
        return asked if self.row["asked_since"] is not None else asked.where("is_new")

    @cached_property
    def answer_counts(self) -> DataFrame:
        """Returns shard, profile_key and documents: how many documents satisfy each profile, kept for several looks."""
        pairs = self.stage.select("shard", sf.explode("profiles").alias("profile_key"))
        return pairs.groupBy("shard", "profile_key").agg(sf.count("*").alias("documents")).persist()

    @cached_property
    def agreement(self) -> "Agreement":
        """What libxml2 says of a sample, asked once."""
        from winnow.quality.oracle import agreement

        return agreement(self)

    @property
    def known_pairs(self) -> int:
        """How many pairs libxml2 has evaluated; none where it was not asked, or could not be."""
        return self.agreement.known if "agreement" in self.__dict__ else 0

    @cached_property
    def file_findings(self) -> Mapping[str, Finding]:
        """What is wrong with the data files of each table, asked once."""
        date = str(self.date)
        day, match_day = {"ingest_date": date}, {"match_date": date}
        staged = {**match_day, "run_id": self.row["run_id"]}
        own = {"documents": day, "document_sources": day, "encoded_documents": day, "matches_staged": staged}
        newest = [name for name in (*own, "matches") if name not in self.versions]
        versions = {**self.versions, **self.tables.versions(*newest)}
        return file_findings(
            self.tables,
            {name: (version, {**own, "matches": match_day}.get(name, {})) for name, version in versions.items()},
        )

    def release(self) -> None:
        """Lets go of what was kept."""
        if "answer_counts" in self.__dict__:
            self.answer_counts.unpersist()


_one_at_a_time = threading.Lock()
_audited: list[AuditedRun] = []  # Great Expectations evaluates in threads of its own, so no context variable


@contextmanager
def auditing(run: AuditedRun) -> Iterator[None]:
    """Makes a run the one that expectations look at; another audit of this process waits."""
    with _one_at_a_time:
        _audited.append(run)
        try:
            yield
        finally:
            _audited.clear()
            run.release()


def audited_run() -> AuditedRun:
    """Returns the run that is being audited; a fault of the program if there is none."""
    return _audited[0]
