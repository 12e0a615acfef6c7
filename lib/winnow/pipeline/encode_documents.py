"""Encode the documents of one data interval that are not encoded yet.

Reads: documents, document_sources. Writes: vocabulary, paths (what is new), document_samples, path_documents and
encoded_documents (one batch). A stored document that cannot be encoded moves to quarantine, and the others go on.

Workers need no numbers from anyone: paths have codes that depend on their labels only. encoded_documents is committed
last, so a batch that is there is whole; a killed run's batch is written again under the same name. That commit carries
a digest of the names of the interval's data files: as long as it has just these, nothing is new in it.
"""

import datetime as dt
import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from winnow.errors import TransientError
from winnow.jobs.report import RunReport
from winnow.lake.locks import table_lock
from winnow.lake.session import driver_host
from winnow.lake.sql import sql
from winnow.lake.store import (
    ensure_tables,
    open_version,
    partition_files,
    read_rows,
    replace_partition,
    require_table,
    rows_by_partition,
    transaction_number,
)
from winnow.pipeline.document_splits import to_splits
from winnow.pipeline.encode_task import TABLES, Encoded, EncodeTask
from winnow.pipeline.progress import Progress
from winnow.pipeline.quarantine import quarantine
from winnow.pipeline.words import add_paths
from winnow.values.reservoir import last_rank, ranks


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    date: dt.date
    run_id: str


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("encode_documents")
    interval = {"ingest_date": config.date}
    with report.stage("plan"):
        ensure_tables(config.lake, ("vocabulary", "paths", *TABLES))
        version = require_table(config.lake, "documents").version()
        files = partition_files(config.lake, "documents", interval, version=version)
        transaction = f"winnow.encode.{config.date}", files_code(files)
        counts = [
            rows_by_partition(config.lake, table, "ingest_date", version=at)[config.date,]
            for table, at in (("documents", version), ("encoded_documents", None))
        ]
        done = transaction_number(config.lake, "encoded_documents", transaction[0]) == transaction[1]
        new = pa.array([]) if done and counts[0] == counts[1] else unencoded(config.lake, config.date, version)
    report.counts = {"documents": counts[0], "encoded": len(new)}
    if len(new):
        with report.stage("plan"):
            batch = batch_name(new)
            last = last_rank(ranks(new))
            splits = to_splits(files, new.combine_chunks() if len(new) < counts[0] else None)
        with report.stage("encode"), Progress("encoding", host=driver_host(spark)) as channel:
            context = spark.sparkContext
            tasks = min(len(splits), context.defaultParallelism * 2)
            shared = context.broadcast(splits)
            first = secrets.randbelow(1 << 15) << 16  # parts of two runs are not taken for each other

            def task(number: int) -> Encoded:
                work = EncodeTask(
                    lake=config.lake,
                    date=config.date,
                    batch=batch,
                    part=first + number,
                    last_rank=last,
                    tell=channel.tell,
                )
                return work(shared.value[number::tasks])

            encoded = context.parallelize(range(tasks), tasks).map(task).collect()
            shared.unpersist()
        with report.stage("commit"):
            note = {"job": "encode_documents", "run_id": config.run_id, "inputs": {"documents": version}}
            if refused := {name: why for work in encoded for name, why in work.refused.items()}:
                quarantine(spark, config.lake, config.date, refused, note)
                again = run(spark, config)
                again.counts["quarantined"] = again.counts.get("quarantined", 0) + len(refused)
                return again
            report.counts["new paths"] = add_paths(config.lake, [work.paths for work in encoded], note)
            parts = sorted(part for work in encoded for part in work.parts)
            with table_lock(config.lake, "encoding"):
                if _is_unencoded(config.lake, config.date, batch, new):
                    for table in reversed(TABLES):
                        own = [part for part in parts if part.table == table]
                        at_last = transaction if table == "encoded_documents" else None
                        partition = {**interval, "batch": batch}
                        replace_partition(config.lake, table, own, partition, note, transaction=at_last)
        report.counts["nodes"] = sum(work.nodes for work in encoded)
    return report


def unencoded(lake: str, date: dt.date, version: int) -> pa.ChunkedArray:
    """The ids of the documents of a date that are in no batch."""
    query = """
        SELECT document_id FROM documents WHERE ingest_date = $1
        AND document_id NOT IN (SELECT document_id FROM encoded WHERE ingest_date = $1)
    """
    tables = {
        "documents": open_version(lake, "documents", version),
        "encoded": require_table(lake, "encoded_documents"),
    }
    return sql(query, [date], **tables).column(0)


def _is_unencoded(lake: str, date: dt.date, batch: str, new: pa.ChunkedArray) -> bool:
    """False when another run has encoded the very same documents meanwhile.

    Some of them in another batch would be answered for twice.
    """
    known = read_rows(lake, "encoded_documents", ["document_id", "batch"], where={"ingest_date": date})
    others = known.filter(pc.not_equal(known.column("batch"), batch))
    if pc.any(pc.is_in(new, value_set=others.column("document_id"))).as_py():
        raise TransientError(
            "interval_moved",
            f"another run has encoded documents of {date} since this one was planned",
            hint="run it again: it will encode only what is still open",
        )
    return bool(others.num_rows == known.num_rows)


def files_code(files: Iterable[str]) -> int:
    """Data files have names of their own and never change."""
    names = sorted(file.rsplit("/", 1)[-1] for file in files)
    return int.from_bytes(hashlib.sha256("\n".join(names).encode()).digest()[:8]) >> 1


def batch_name(ids: pa.ChunkedArray | pa.Array) -> str:
    """Depends on which documents they are, not on their order."""
    digest = hashlib.sha256("\n".join(sorted(ids.to_pylist())).encode())
    return digest.hexdigest()[:16]
