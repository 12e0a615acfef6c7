"""Publish the staged answers of one data interval.

Reads: matches_staged at the audited version, matches, profile_sets, ledger. Writes: matches, deliveries, ledger.

One commit makes the interval's matches what the staged commit says: its rows replace them, are added to them, or are
added to those that are still required. The commit carries the staged version as its transaction, so publishing twice
changes nothing, and the ledger, written last, can always be written again from it. A run that was planned on another
state of the interval than the one it finds is refused: it would lose what another run has published since.
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.errors import DataError
from winnow.jobs.report import RunReport
from winnow.lake.contracts import load_contract
from winnow.lake.locks import table_lock
from winnow.lake.parts import Part, PartWriter, arrow_schema, copy_part
from winnow.lake.sql import sql
from winnow.lake.store import (
    commit_note,
    commit_notes,
    commit_parts,
    ensure_tables,
    open_table,
    partition_files,
    read_rows,
    replace_partition,
    require_table,
    transaction_number,
    write_rows,
)
from winnow.pipeline.ledger import TABLES, enter, require_base


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    date: dt.date
    staged_version: int
    run_id: str
    audited: bool = False  # refuse what the quality gate has not let through


def run(config: Config) -> RunReport:
    report = RunReport("publish_matches")
    lake, date = config.lake, config.date
    ensure_tables(lake, TABLES)
    note = commit_note(lake, "matches_staged", config.staged_version)
    recover(lake, date)
    with report.stage("publish"), table_lock(lake, "publish"):
        published = transaction_number(lake, "matches", _transaction(date))
        if published != config.staged_version:
            if config.audited:
                _require_audit(lake, date, config.staged_version)
            require_base(_ledger(lake, date), date, note)
            report.counts["published"] = _publish(config, note)
    with report.stage("deliveries and ledger"):
        recover(lake, date)
    report.counts["matches version"] = require_table(lake, "matches").version()
    return report


def staged_version(lake: str, date: dt.date) -> int:
    """The newest version of matches_staged that staged the interval."""
    for version, note in commit_notes(lake, "matches_staged"):
        if note.get("date") == str(date):
            return version
    raise DataError("nothing_staged", f"nothing was staged for {date}", hint="run match-documents first")


def recover(lake: str, date: dt.date) -> None:
    """Finish what a publication of the interval has begun: deliveries, then the ledger. Nothing, if it was finished."""
    with table_lock(lake, "publish"):
        published = transaction_number(lake, "matches", _transaction(date))
        if published is None or published in _ledger(lake, date).column("staged_version").to_pylist():
            return
        note = commit_note(lake, "matches_staged", published)
        version = int(require_table(lake, "matches").version())
        _deliver(lake, date, note, staged_version=published, matches_version=version)
        enter(lake, date, note, staged_version=published, matches_version=version)


def _transaction(date: dt.date) -> str:
    return f"winnow.publish.{date}"


def _ledger(lake: str, date: dt.date) -> pa.Table:
    return read_rows(lake, "ledger", where={"match_date": date})


def unpublished(lake: str) -> dict[dt.date, int]:
    """The newest staged version of each date, where it is not the published one."""
    found: dict[dt.date, int] = {}
    if open_table(lake, "matches_staged") is None:
        return found
    for version, note in commit_notes(lake, "matches_staged"):
        if "date" in note:
            found.setdefault(dt.date.fromisoformat(note["date"]), version)
    return {date: v for date, v in found.items() if (transaction_number(lake, "matches", _transaction(date)) or -1) < v}


def _require_audit(lake: str, date: dt.date, version: int) -> None:
    """What is published is the very version that passed."""
    rows = read_rows(lake, "quality_results", where={"match_date": date}).to_pylist()
    own = [row for row in rows if row["staged_version"] == version]
    failed = sorted(row["check"] for row in own if row["severity"] == "critical" and not row["success"])
    if failed or not own:
        what = f"failed {', '.join(failed)}" if failed else "was never audited"
        hint = "see quality_results; mend the cause, then match again" if failed else "run `winnow audit` first"
        raise DataError("gate_failed", f"version {version} of matches_staged, for {date}, {what}", hint=hint)


def _publish(config: Config, note: dict[str, Any]) -> int:
    """Returns the rows that came."""
    lake, partition = config.lake, {"match_date": config.date}
    parts = [
        copy_part(lake, uri, "matches", partition)
        for uri in partition_files(lake, "matches_staged", partition, version=config.staged_version)
    ]
    new = sum(part.rows for part in parts)
    if note["mode"] == "rewrite":
        parts += _kept(lake, config.date, note["profile_set"])
    run = {"job": "publish_matches", "run_id": config.run_id, "staged_version": config.staged_version}
    with table_lock(lake, "matches"):
        commit_parts(
            lake,
            "matches",
            parts,
            partition,
            run,
            replace=note["mode"] != "append",
            transaction=(_transaction(config.date), config.staged_version),
        )
    return new


def _kept(lake: str, date: dt.date, profile_set: str) -> list[Part]:
    """Published rows of profile versions that are still required, with their subscribers and destinations of now."""
    contract = load_contract("matches")
    names = arrow_schema(contract).names
    of_now = {"subscriber", "destination"}
    columns = ", ".join(f"{'r' if name in of_now else 'm'}.{name}" for name in names)
    database = duckdb.connect()
    database.register("m", _dataset(lake, date))
    database.register("r", read_rows(lake, "profile_sets", where={"profile_set": profile_set}))
    reader = database.execute(
        f"SELECT {columns} FROM m JOIN r ON m.profile_id = r.profile_id AND m.profile_version = r.profile_version"
    ).to_arrow_reader(100_000)
    writer = PartWriter(lake, contract, {"match_date": date})
    for batch in reader:
        writer.write(batch)
    return writer.close()


def _dataset(lake: str, date: dt.date) -> Any:
    dataset = require_table(lake, "matches").to_pyarrow_dataset()
    return dataset.filter(pc.field("match_date") == pa.scalar(date))


def _deliver(lake: str, date: dt.date, note: dict[str, Any], *, staged_version: int, matches_version: int) -> None:
    """What a publication adds; where it changed the interval as a whole, all of it."""
    partition = {"match_date": date}
    parts: list[Part] = []
    matches: Any = _dataset(lake, date)
    if note["mode"] == "append":
        known = read_rows(lake, "deliveries", where=partition)
        known = known.filter(pc.not_equal(known.column("staged_version"), staged_version))
        parts += write_rows(lake, "deliveries", known, partition)
        files = partition_files(lake, "matches_staged", partition, version=staged_version)
        matches = files or matches.filter(pc.scalar(False))
    rows = _by_destination(matches)
    for name, version in (("staged_version", staged_version), ("matches_version", matches_version)):
        rows = rows.append_column(name, pa.array(np.full(rows.num_rows, version, np.int64)))
    parts += write_rows(lake, "deliveries", rows, partition)
    replace_partition(lake, "deliveries", parts, partition, {"job": "publish_matches"})


def _by_destination(matches: Any) -> pa.Table:
    query = """
        SELECT destination, count(*) AS documents, sum(n)::BIGINT AS matches FROM (
            SELECT destination, document_id, count(*) AS n FROM matches WHERE destination IS NOT NULL GROUP BY ALL
        ) GROUP BY destination ORDER BY destination
    """
    return sql(query, matches=matches)
