"""Ingest a profile file: the file declares the set, the table follows.

Reads: a CSV or JSONL file, profiles.
Writes: profiles (new versions, changed attributes, retirements), rejected_profiles (this file's rejections).

Ingesting the same file again changes nothing. A changed meaning (xpath, namespaces, ordered) is a new version;
a changed subscriber, destination or validity updates the active version. A million profiles are a small table: DuckDB
compares them and delta-rs merges what changed, in seconds and without a JVM.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from winnow.ingest.profiles import ProfileFile, read_profiles
from winnow.jobs.report import RunReport
from winnow.lake.locks import table_lock
from winnow.lake.store import ensure_tables, require_table, upsert

OUTCOMES = ("new", "changed", "updated", "revived", "retired")

# One row per profile that must change: the file's values, the newest stored version `old`, and the outcome. A row that
# is in the file but was rejected is not missing: its stored version stays active. Where a row is so broken that it does
# not even show its id, any profile may be meant, and none is retired.
_STEPS = """
CREATE TEMP TABLE steps AS
WITH newest AS (
    SELECT * FROM stored QUALIFY row_number() OVER (PARTITION BY profile_id ORDER BY profile_version DESC) = 1
)
SELECT
    coalesce(given.profile_id, newest.profile_id) AS id, given, newest AS old,
    CASE
        WHEN given.profile_id IS NULL THEN
            CASE WHEN newest.state = 'active' AND $retire_missing
                  AND newest.profile_id NOT IN (SELECT profile_id FROM rejected WHERE profile_id IS NOT NULL)
                 THEN CASE WHEN EXISTS (SELECT 1 FROM rejected WHERE profile_id IS NULL)
                           THEN 'not retired' ELSE 'retired' END END
        WHEN newest.profile_id IS NULL THEN 'new'
        WHEN (given.xpath, given.ordered, given.namespaces) IS DISTINCT FROM
             (newest.xpath, newest.ordered, newest.namespaces) THEN 'changed'
        WHEN newest.state <> 'active' THEN 'revived'
        WHEN (given.subscriber, given.destination, given.valid_from, given.valid_to) IS DISTINCT FROM
             (newest.subscriber, newest.destination, newest.valid_from, newest.valid_to) THEN 'updated'
    END AS outcome
FROM given FULL OUTER JOIN newest USING (profile_id)
WHERE outcome IS NOT NULL
"""

# What to upsert by (profile_id, profile_version): the version that is active now, and the one it supersedes.
_CHANGES = """
SELECT id AS profile_id,
       (coalesce(old.profile_version, 0) + (outcome IN ('new', 'changed'))::INTEGER)::INTEGER AS profile_version,
       given.xpath, given.namespaces, given.ordered, given.subscriber, given.destination,
       given.valid_from, given.valid_to, 'active' AS state
FROM steps WHERE outcome NOT IN ('retired', 'not retired')
UNION ALL
SELECT id, old.profile_version, old.xpath, old.namespaces, old.ordered, old.subscriber, old.destination,
       old.valid_from, old.valid_to, CASE outcome WHEN 'retired' THEN 'retired' ELSE 'superseded' END
FROM steps WHERE outcome IN ('changed', 'retired')
"""


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    file: str
    retire_missing: bool = False


def run(config: Config) -> RunReport:
    report = RunReport("ingest_profiles")
    with report.stage("read"):
        file = read_profiles(config.file)
    commit = {"job": "ingest_profiles", "file": config.file}
    with report.stage("write"):
        ensure_tables(config.lake, ("profiles", "rejected_profiles"))
        with table_lock(config.lake, "profiles"):
            stored = require_table(config.lake, "profiles").to_pyarrow_table()
            outcomes, changes = to_changes(file, stored, retire_missing=config.retire_missing)
            if changes.num_rows:
                upsert(config.lake, "profiles", changes, run=commit)
        with table_lock(config.lake, "rejected_profiles"):
            before = require_table(config.lake, "rejected_profiles").to_pyarrow_table()
            new, gone = to_rejections(file.rejected, before, source=str(Path(config.file).absolute()))
            if new.num_rows or gone.num_rows:
                upsert(config.lake, "rejected_profiles", new, gone=gone, run=commit)
    rejected = Counter(file.rejected.column("reason").to_pylist())
    unchanged = file.profiles.num_rows - sum(outcomes[name] for name in OUTCOMES if name != "retired")
    report.counts = {
        "read": file.profiles.num_rows + file.rejected.num_rows,
        **{name: outcomes[name] for name in OUTCOMES},
        **({"missing, not retired: rows without id": kept} if (kept := outcomes["not retired"]) else {}),
        "unchanged": unchanged,
        "rejected": rejected.total(),
        **{f"rejected: {reason}": rejected[reason] for reason in sorted(rejected)},
        **{f"ignored field: {name}": rows for name, rows in sorted(file.ignored_fields.items())},
    }
    return report


def to_changes(file: ProfileFile, stored: pa.Table, *, retire_missing: bool) -> tuple[Counter[str], pa.Table]:
    """How many profiles have which outcome, and the rows to upsert."""
    database = _database(given=file.profiles, stored=stored, rejected=file.rejected)
    database.execute(_STEPS, {"retire_missing": retire_missing})
    counts = database.execute("SELECT outcome, count(*) FROM steps GROUP BY outcome").fetchall()
    return Counter(dict(counts)), database.execute(_CHANGES).to_arrow_table()


def to_rejections(rejected: pa.Table, stored: pa.Table, *, source: str) -> tuple[pa.Table, pa.Table]:
    """(rows to upsert, rows to remove), so that the table holds exactly the rejections of this file's last ingest."""
    database = _database(rejected=rejected, stored=stored)
    new = database.execute("SELECT * FROM rejected EXCEPT SELECT * FROM stored").to_arrow_table()
    gone = database.execute(
        "SELECT * FROM stored WHERE source = ? AND row_number NOT IN (SELECT row_number FROM rejected)", [source]
    )
    return new, gone.to_arrow_table()


def _database(**tables: pa.Table) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    for name, table in tables.items():
        database.register(name, table)
    return database
