"""Keep the tables fit: few files, no leftovers, and numbers that tell when that is not so.

Reads and writes all tables: OPTIMIZE merges small files, VACUUM removes files that no version within the retention
names, among them the parts of killed runs. Rows never change.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from deltalake import WriterProperties

from winnow.errors import UsageError
from winnow.jobs.report import RunReport
from winnow.lake.contracts import table_names
from winnow.lake.locks import table_lock
from winnow.lake.store import TableState, open_table, state

RETENTION_HOURS = 24 * 30  # time travel and the longest backfill fit into it
SAFE_HOURS = 24 * 7
GROUP_BYTES = 4 << 20  # of a row group on disk


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    run_id: str
    tables: tuple[str, ...] = ()  # none: all
    retention_hours: int = RETENTION_HOURS
    target_mb: int = 256


def run(config: Config) -> Iterator[RunReport]:
    """A report for each table."""
    if config.retention_hours < SAFE_HOURS:
        raise UsageError(
            "retention_too_short",
            f"{config.retention_hours} hours: running jobs and time travel need files for at least {SAFE_HOURS}",
            hint=f"give --retention-hours {SAFE_HOURS} or more",
        )
    for name in config.tables or table_names():
        table = open_table(config.lake, name)
        if table is None:
            continue
        report = RunReport(f"maintain {name}")
        before = state(config.lake, name)
        assert before is not None
        with report.stage("optimize"), table_lock(config.lake, name):
            table = open_table(config.lake, name)
            assert table is not None
            table.optimize.compact(target_size=config.target_mb << 20, writer_properties=_layout(before))
        with report.stage("vacuum"), table_lock(config.lake, name):
            removed = table.vacuum(retention_hours=config.retention_hours, dry_run=False)
            table.create_checkpoint()
        after = state(config.lake, name)
        assert after is not None
        report.counts = {
            "rows": after.rows,
            "files before": before.files,
            "files": after.files,
            "megabytes": after.size_bytes // 1_000_000,
            "removed": len(removed),
        }
        yield report


def _layout(table: TableState) -> WriterProperties:
    """Row groups as small as workers write them: they are what a task reads, and what it can do without."""
    rows = GROUP_BYTES * table.rows // max(table.size_bytes, 1)
    return WriterProperties(compression="ZSTD", compression_level=1, max_row_group_size=max(rows, 1000))
