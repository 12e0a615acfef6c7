"""Write what is to be sent as one JSONL file per destination: a line for each document, with its profiles.

Reads: deliveries, and matches at the version that each delivery names. Where maintenance has removed that version, the
newest one is read, if it has as many matches as were published: a publication of a date writes the date's deliveries
anew, so they differ only if something else changed the table. What is not kept is said, with the date from which on all
is. A file appears only when it is whole; writing again gives the same bytes.
"""

import datetime as dt
import hashlib
import json
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import duckdb

from winnow.errors import DataError, UsageError
from winnow.jobs.report import RunReport
from winnow.query.database import connect, open_database, register_files
from winnow.query.stored_tables import data_files, missing_files, open_table, require_table
from winnow.tables.lake import Lake

LONGEST_NAME = 120  # characters; file systems end at 255 bytes
_NAMED = 5  # destinations in a message


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    date: dt.date
    folder: Path
    destination: str | None = None  # None: all


class Delivery(NamedTuple):
    destination: str
    matches_version: int
    matches: int


def run(config: Config) -> RunReport:
    report = RunReport("deliver", {"destinations": 0, "documents": 0})
    folder = config.folder / str(config.date)
    folder.mkdir(parents=True, exist_ok=True)
    published = _PublishedMatches(config.lake, config.date)
    lost: list[Delivery] = []
    with report.stage("write"):
        for delivery in _deliveries(config.lake, config.date):
            if config.destination not in {None, delivery.destination}:
                continue
            matches = published.of(delivery)
            if matches is None:
                lost.append(delivery)
                continue
            report.counts["documents"] += _write(folder, delivery.destination, matches)
            report.counts["destinations"] += 1
    if lost:
        raise _removed(config, published, report.counts["destinations"], lost)
    return report


def file_name(destination: str) -> str:
    """A name that no other destination has, also where case or Unicode forms do not count: destinations are data.

    What is not a plain character is percent-encoded. Capitals, and what is long or empty, add a digest after `~`, which
    is never plain.

    >>> file_name("desk-1"), file_name("../etc/passwd")
    ('desk-1.jsonl', '%2E.%2Fetc%2Fpasswd.jsonl')
    >>> file_name("Desk-1")
    'Desk-1~9e584173a97f551d23e89f2bb7ba564d.jsonl'
    """
    name = quote(destination, safe="@", errors="surrogatepass").replace("~", "%7E")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if not name or len(name) > LONGEST_NAME or destination != destination.lower():
        digest = hashlib.sha256(destination.encode(errors="surrogatepass")).hexdigest()[:32]
        name = f"{name[:LONGEST_NAME]}~{digest}"
    return f"{name}.jsonl"


def _deliveries(lake: Lake, date: dt.date) -> list[Delivery]:
    """What was published for each destination, over all publications of the date."""
    require_table(lake, "deliveries")
    query = """
        SELECT destination, max(matches_version), sum(matches)::BIGINT
        FROM deliveries WHERE match_date = $1 GROUP BY destination ORDER BY destination
    """
    return [Delivery(*row) for row in connect(lake).execute(query, [date]).fetchall()]


class _PublishedMatches:
    """The matches of a date as they were published, as far as they are kept."""

    def __init__(self, lake: Lake, date: dt.date) -> None:
        self.newest = require_table(lake, "matches").version()
        self._at = cache(lambda version: _matches(lake, date, version))

    def of(self, delivery: Delivery) -> duckdb.DuckDBPyConnection | None:
        """The date's matches with those of the destination; None when no version has them as they were published."""
        matches = self._at(delivery.matches_version)
        if matches is None and self.kept(delivery) == delivery.matches:
            matches = self._at(self.newest)
        return matches

    def kept(self, delivery: Delivery) -> int:
        """How many matches of the destination the newest version has."""
        matches = self._at(self.newest)
        return _count(matches, delivery.destination) if matches else 0


def _matches(lake: Lake, date: dt.date, version: int) -> duckdb.DuckDBPyConnection | None:
    """The date's matches at a version, as a view; None when that version cannot be read any more."""
    try:
        table = open_table(lake, "matches", version=version)
    except UsageError:  # the log does not reach back so far, or its files are gone
        return None
    files = data_files(table, {"match_date": date}) if table else []
    if not files or missing_files(files, lake):
        return None
    database = open_database()
    register_files(database, "matches", files, lake)
    return database


def _count(matches: duckdb.DuckDBPyConnection, destination: str) -> int:
    ((count,),) = matches.execute("SELECT count(*) FROM matches WHERE destination = $1", [destination]).fetchall()
    return int(count)


def _kept_from(lake: Lake) -> dt.date | None:
    """The first date from which on everything that was published can be delivered."""
    first = None
    dates = connect(lake).execute("SELECT DISTINCT match_date FROM deliveries ORDER BY match_date DESC").fetchall()
    for (date,) in dates:
        published = _PublishedMatches(lake, date)
        if any(published.of(delivery) is None for delivery in _deliveries(lake, date)):
            break
        first = date
    return first


def _removed(config: Config, published: _PublishedMatches, written: int, lost: list[Delivery]) -> DataError:
    named = ", ".join(
        f"{delivery.destination} ({delivery.matches:,} published, {published.kept(delivery):,} there)"
        for delivery in lost[:_NAMED]
    ) + (f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else "")
    first = _kept_from(config.lake)
    return DataError(
        "matches_removed",
        f"the published matches of {config.date} are no longer kept, and the newest version, {published.newest}, has"
        f" others: {named}; {written} destinations were written; "
        + (f"from {first} on all can be delivered" if first else "no later date is kept as a whole either"),
        hint=f"`winnow run --date {config.date} --full` publishes the date anew; then deliver again",
    )


def _write(folder: Path, destination: str, matches: duckdb.DuckDBPyConnection) -> int:
    """Returns the number of lines."""
    reader = matches.execute(
        """
        SELECT document_id, min(source) AS source, list({'profile_id': profile_id, 'profile_version': profile_version,
            'subscriber': subscriber, 'witness': witness} ORDER BY profile_id) AS matches
        FROM matches WHERE destination = $1 GROUP BY document_id ORDER BY document_id
        """,
        [destination],
    ).to_arrow_reader(10_000)
    partial = folder / f".{uuid.uuid4()}.partial"
    lines = 0
    try:
        with partial.open("x", encoding="utf-8") as out:
            for batch in reader:
                rows = batch.to_pylist()
                out.writelines(
                    json.dumps({"destination": destination, **row}, ensure_ascii=False) + "\n" for row in rows
                )
                lines += len(rows)
        partial.replace(folder / file_name(destination))
    finally:
        partial.unlink(missing_ok=True)
    return lines
