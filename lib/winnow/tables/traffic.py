"""Which tables a job reads and writes, at which versions: lineage as it was seen, not as it was declared.

Whoever wants to know, for one the operator of the DAGs, watches; otherwise nothing is kept.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from winnow.tables.tables import Tables


@dataclass
class TableTraffic:
    """The tables that were read, with the version where one was named, and those that were written."""

    read: dict[str, int | None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)

    def versions(self, tables: "Tables") -> tuple[dict[str, int], dict[str, int]]:
        """Returns the versions of what was read and of what was written; where none was named, the newest one now."""
        newest = sorted({name for name, version in self.read.items() if version is None} | self.written)
        known = tables.versions(*newest) if newest else {}
        read = {name: known[name] if version is None else version for name, version in self.read.items()}
        return read, {name: known[name] for name in sorted(self.written)}


_watched: TableTraffic | None = None  # one job at a time in a process


@contextmanager
def table_traffic() -> Iterator[TableTraffic]:
    """Watches what the process does with tables."""
    global _watched  # noqa: PLW0603
    before, _watched = _watched, TableTraffic()
    try:
        yield _watched
    finally:
        _watched = before


def note_read(name: str, version: int | None) -> None:
    if _watched:
        _watched.read[name] = version if version is not None else _watched.read.get(name)


def note_written(name: str) -> None:
    if _watched:
        _watched.written.add(name)
