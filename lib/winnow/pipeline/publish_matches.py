"""Publish the staged answers of one data interval.

Reads: matches_staged at a pinned version. Writes: matches, the whole of the interval in one commit that names that
version; an empty result still replaces.
"""

import datetime as dt
from dataclasses import dataclass

import pyarrow.parquet as pq

from winnow.lake.contracts import load_contract
from winnow.lake.parts import PartWriter, filesystem
from winnow.lake.store import ensure_tables, partition_files, replace_partition
from winnow.pipeline.report import RunReport


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    date: dt.date
    staged_version: int
    run_id: str


def run(config: Config) -> RunReport:
    report = RunReport("publish_matches")
    partition = {"match_date": config.date}
    with report.stage("publish"):
        ensure_tables(config.lake, ("matches",))
        writer = PartWriter(config.lake, load_contract("matches"), partition)
        for uri in partition_files(config.lake, "matches_staged", partition, version=config.staged_version):
            files, path = filesystem(uri)
            with files.open_input_file(path) as stream:
                for batch in pq.ParquetFile(stream).iter_batches(100_000):
                    writer.write(batch)
        parts = writer.close()
        commit = {"job": "publish_matches", "run_id": config.run_id, "staged_version": config.staged_version}
        version = replace_partition(config.lake, "matches", parts, partition, commit)
    report.counts = {"published": sum(part.rows for part in parts), "matches version": version}
    return report
