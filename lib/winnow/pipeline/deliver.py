"""Write what is to be sent as one JSONL file per destination: a line for each document, with its profiles.

Reads: deliveries, and matches at the version that each delivery names. A file appears only when it is whole; writing
again gives the same bytes.
"""

import datetime as dt
import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from winnow.lake.store import location, read_rows
from winnow.pipeline.report import RunReport


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    date: dt.date
    folder: Path
    destination: str | None = None  # None: all


def run(config: Config) -> RunReport:
    report = RunReport("deliver")
    deliveries: dict[str, int] = {}  # the newest version of matches for each destination
    for row in read_rows(config.lake, "deliveries", where={"match_date": config.date}).to_pylist():
        deliveries[row["destination"]] = max(row["matches_version"], deliveries.get(row["destination"], 0))
    folder = config.folder / str(config.date)
    folder.mkdir(parents=True, exist_ok=True)
    lines = 0
    with report.stage("write"):
        for destination, version in sorted(deliveries.items()):
            if config.destination in {None, destination}:
                lines += _write(config, destination, version, folder)
                report.counts["destinations"] = report.counts.get("destinations", 0) + 1
    report.counts["documents"] = lines
    return report


def file_name(destination: str) -> str:
    """Destinations are data, so never a path: what is not a plain word gets a digest.

    >>> file_name("desk-1"), file_name("../etc/passwd")
    ('desk-1.jsonl', 'etc-passwd-7fef78f5.jsonl')
    """
    plain = re.sub(r"[^A-Za-z0-9_.@-]+", "-", destination).strip("-.")[:80]
    if plain == destination:
        return f"{plain}.jsonl"
    return f"{plain}-{hashlib.sha256(destination.encode()).hexdigest()[:8]}.jsonl"


def _write(config: Config, destination: str, version: int, folder: Path) -> int:
    dataset = deltalake.DeltaTable(location(config.lake, "matches"), version=version).to_pyarrow_dataset()
    chosen = (pc.field("match_date") == pa.scalar(config.date)) & (pc.field("destination") == destination)
    database = duckdb.connect()
    database.register("m", dataset.filter(chosen))
    reader = database.execute(
        """
        SELECT document_id, min(source) AS source, list({'profile_id': profile_id, 'profile_version': profile_version,
            'subscriber': subscriber, 'witness': witness} ORDER BY profile_id) AS matches
        FROM m GROUP BY document_id ORDER BY document_id
        """
    ).to_arrow_reader(10_000)
    target = folder / file_name(destination)
    partial = target.with_name(f".{target.name}.partial")
    lines = 0
    with partial.open("w", encoding="utf-8") as out:
        for batch in reader:
            rows = batch.to_pylist()
            out.writelines(json.dumps({"destination": destination, **row}, ensure_ascii=False) + "\n" for row in rows)
            lines += len(rows)
    partial.replace(target)
    return lines
