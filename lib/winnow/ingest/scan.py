"""What a worker does with its share of the files. Imports little: each worker pays for it before its first document."""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from winnow.ingest.accept import Accepted, Limits, Refused, accept
from winnow.ingest.expansion import ExpansionLimits
from winnow.ingest.read import Item, Place, read_file
from winnow.ingest.sources import File
from winnow.lake.contracts import load_contract
from winnow.lake.parts import Part, PartWriter, arrow_schema

TABLES = ("documents", "document_sources", "quarantine")
BATCH_BYTES = 4 << 20
BATCH_ROWS = 2000


class Outcome(NamedTuple):
    """What a task tells the driver."""

    parts: list[Part]
    items: dict[str, int]  # by reason; '' is accepted


@dataclass(frozen=True, kw_only=True)
class Scan:
    """One task's work: read, hash and parse the files of its bins, and write the parts."""

    lake: str
    date: dt.date
    record_tag: str | None
    limits: Limits
    expansion: ExpansionLimits
    tell: Callable[[int], None]  # so many items are done

    def __call__(self, files: Iterable[File]) -> Outcome:
        output = _Output(self)
        for file in files:
            items = read_file(
                file, record_tag=self.record_tag, max_bytes=self.limits.max_bytes, expansion=self.expansion
            )
            for item in items:
                if output.add(item):
                    self.tell(output.flush())
        self.tell(output.flush())
        return output.close()


def quarantine_row(place: Place, content: bytes, refused: Refused) -> tuple[Any, ...]:
    """A row of quarantine without its date: the same refusal of the same bytes at the same place is the same row."""
    where = (place.source, place.member, place.record)
    reason, message, line, column = refused
    line = line + place.line - 1 if line else (place.line if place.record else 0)
    identity = "\n".join((*map(str, where), reason, hashlib.sha256(content).hexdigest()))
    quarantine_id = hashlib.sha256(identity.encode()).hexdigest()
    return (quarantine_id, *where, str(reason), line, column, message, content or None, len(content))


class _Rows(NamedTuple):
    documents: list[tuple[Any, ...]]
    document_sources: list[tuple[Any, ...]]
    quarantine: list[tuple[Any, ...]]


class _Output:
    """Judges the items of one task and writes its parts."""

    def __init__(self, scan: Scan) -> None:
        self._limits = scan.limits
        partition = {"ingest_date": scan.date}
        self._contracts = {table: load_contract(table) for table in TABLES}
        self._writers = {
            table: PartWriter(scan.lake, contract, partition) for table, contract in self._contracts.items()
        }
        self._seen: set[bytes] = set()  # digests: the same bytes twice in one task are one row
        self._items: dict[str, int] = {}
        self._rows = _Rows([], [], [])
        self._bytes = self._pending = 0

    def add(self, item: Item) -> bool:
        """True when it is time to flush."""
        place, content, verdict = item.place, item.content, item.refused or accept(item.content, self._limits)
        where = (place.source, place.member, place.record)
        match verdict:
            case Accepted(document_id, encoding, root, internal_subset):
                reason = ""
                self._rows.document_sources.append((document_id, *where))
                if (digest := bytes.fromhex(document_id)) not in self._seen:
                    self._seen.add(digest)
                    self._rows.documents.append((document_id, content, len(content), encoding, root, internal_subset))
                    self._bytes += len(content)
            case Refused(reason):
                self._rows.quarantine.append(quarantine_row(place, content, verdict))
                self._bytes += len(content)
        self._items[str(reason)] = self._items.get(str(reason), 0) + 1
        self._pending += 1
        return self._bytes >= BATCH_BYTES or self._pending >= BATCH_ROWS

    def flush(self) -> int:
        """Write what is pending; returns how many items that were."""
        for table, rows in zip(TABLES, self._rows, strict=True):
            if rows:
                schema = arrow_schema(self._contracts[table])
                columns = [pa.array(c, type=f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
                self._writers[table].write(pa.RecordBatch.from_arrays(columns, schema=schema))
        done, self._pending, self._bytes, self._rows = self._pending, 0, 0, _Rows([], [], [])
        return done

    def close(self) -> Outcome:
        return Outcome([part for writer in self._writers.values() for part in writer.close()], self._items)
