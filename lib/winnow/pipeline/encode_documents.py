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
        ids = read_rows(config.lake, "documents", ["document_id"], where=interval, version=version).column(0)
        known = read_rows(config.lake, "encoded_documents", ["document_id"], where=interval).column(0)
        new = ids.filter(pc.invert(pc.is_in(ids, value_set=known))) if len(known) else ids
    report.counts = {"documents": len(ids), "encoded": len(new)}
    if len(new):
        with report.stage("plan"):
            batch = batch_name(new)
            last = last_rank(ranks(new))
            files = partition_files(config.lake, "documents", interval, version=version)
            splits = to_splits(files, new.combine_chunks() if len(known) else None)
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


def batch_name(ids: pa.ChunkedArray | pa.Array) -> str:
    """Depends on which documents they are, not on their order."""
    digest = hashlib.sha256("\n".join(sorted(ids.to_pylist())).encode())
    return digest.hexdigest()[:16]
