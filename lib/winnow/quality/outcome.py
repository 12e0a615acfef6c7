"""What publishing a staged version would make of its interval: staged rows, and published ones that stay."""

import datetime as dt
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.errors import DataError
from winnow.lake.contracts import load_contract
from winnow.lake.parts import arrow_schema, filesystem
from winnow.lake.store import commit_note, partition_files, read_rows, require_table
from winnow.pipeline.ledger import require_base
from winnow.pipeline.publish_matches import recover


class Outcome(NamedTuple):
    lake: str
    date: dt.date
    staged_version: int
    note: dict[str, Any]  # of the staged commit: mode, batches, answered, profile_set, inputs
    staged: tuple[str, ...]  # data files
    published: tuple[str, ...]  # data files whose rows stay: all, or in the mode rewrite those of profiles of the set

    @property
    def rewrites(self) -> bool:
        return bool(self.note["mode"] == "rewrite")

    @property
    def inputs(self) -> dict[str, int]:
        """The versions of the tables that the run has read."""
        found: dict[str, int] = self.note["inputs"]
        return found

    def rows(self, table: str, columns: list[str] | None = None, where: dict[str, Any] | None = None) -> pa.Table:
        """Rows of a table as the run has seen them."""
        return read_rows(self.lake, table, columns, where=where, version=self.inputs.get(table))


def foresee(lake: str, date: dt.date, staged_version: int) -> Outcome:
    """Raises when the version says nothing of a run, or when another run has published the interval since."""
    note = commit_note(lake, "matches_staged", staged_version)
    if note.get("date") != str(date):
        raise DataError(
            "nothing_staged",
            f"version {staged_version} of matches_staged did not stage {date}",
            hint="leave --staged-version away for the newest one that did",
        )
    recover(lake, date)
    partition = {"match_date": date}
    ledger = read_rows(lake, "ledger", where=partition)
    at = int(require_table(lake, "matches").version())
    if staged_version in ledger.column("staged_version").to_pylist():  # an audit after the fact
        at = min(ledger.column("matches_version").to_pylist()) - 1
    else:
        require_base(ledger, date, note)
    staged = partition_files(lake, "matches_staged", partition, version=staged_version)
    published = [] if note["mode"] == "replace" else partition_files(lake, "matches", partition, version=at)
    return Outcome(lake, date, staged_version, note, tuple(staged), tuple(published))


def broken_files(outcome: Outcome) -> list[str]:
    """What is wrong with the staged files themselves: publishing adopts them as they are."""
    wanted = {field.name: field.type for field in arrow_schema(load_contract("matches_staged"))}
    problems = []
    for uri in outcome.staged:
        files, path = filesystem(uri)
        try:
            found = {field.name: field.type for field in pq.read_schema(path, filesystem=files)}
        except (OSError, pa.ArrowException) as error:
            problems.append(f"{path} cannot be read: {error}")
            continue
        wrong = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
        if wrong:
            problems.append(f"{path} has other columns than the contract: {', '.join(wrong)}")
    return problems
