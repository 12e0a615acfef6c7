"""Encode the documents of one data interval that are not encoded yet.

Reads: documents. Writes: vocabulary, paths (what is new), document_samples, path_documents and encoded_documents (one
batch).

Workers need no numbers from anyone: paths have codes that depend on their labels only. encoded_documents is committed
last, so a batch that is there is whole; a killed run's batch is written again under the same name.
"""

import datetime as dt
import hashlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from winnow.lake.session import driver_host
from winnow.lake.store import (
    ensure_tables,
    partition_files,
    read_rows,
    replace_partition,
    require_table,
    rows_by_partition,
)
from winnow.pipeline.document_splits import to_splits
from winnow.pipeline.encode_task import TABLES, Encoded, EncodeTask
from winnow.pipeline.progress import Progress
from winnow.pipeline.report import RunReport
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
        have, known = (_count(config, table) for table in ("documents", "encoded_documents"))
    report.counts = {"documents": have, "encoded": have - known}
    if have > known:  # a document is never taken away, and encoded once
        with report.stage("plan"):
            files = partition_files(config.lake, "documents", interval, version=version)
            ids = read_rows(config.lake, "documents", ["document_id"], where=interval, version=version).column(0)
            old = read_rows(config.lake, "encoded_documents", ["document_id"], where=interval).column(0)
            new = ids.filter(pc.invert(pc.is_in(ids, value_set=old))).combine_chunks() if known else None
            batch = batch_name(ids if new is None else new)
            last = last_rank(ranks(ids if new is None else new))
            splits = to_splits(files, new)
        with report.stage("encode"), Progress("encoding", host=driver_host(spark)) as channel:
            context = spark.sparkContext
            tasks = min(len(splits), context.defaultParallelism * 2)
            shared = context.broadcast(splits)

            def task(number: int) -> Encoded:
                work = EncodeTask(
                    lake=config.lake,
                    date=config.date,
                    batch=batch,
                    number=number,
                    last_rank=last,
                    tell=channel.tell,
                )
                return work(shared.value[number::tasks])

            done = context.parallelize(range(tasks), tasks).map(task).collect()
            shared.unpersist()
        with report.stage("commit"):
            note = {"job": "encode_documents", "run_id": config.run_id, "inputs": {"documents": version}}
            report.counts["new paths"] = add_paths(config.lake, [encoded.paths for encoded in done], note)
            parts = sorted(part for encoded in done for part in encoded.parts)
            for table in reversed(TABLES):
                own = [part for part in parts if part.table == table]
                replace_partition(config.lake, table, own, {**interval, "batch": batch}, note)
        report.counts["nodes"] = sum(encoded.nodes for encoded in done)
    return report


def _count(config: Config, table: str) -> int:
    """How many documents of the interval a table has."""
    return rows_by_partition(config.lake, table, "ingest_date")[(config.date,)]


def batch_name(ids: pa.ChunkedArray | pa.Array) -> str:
    """Depends on which documents they are, not on their order."""
    digest = hashlib.sha256("\n".join(sorted(ids.to_pylist())).encode())
    return digest.hexdigest()[:16]
