"""Open tables of this process, each kept for as long as nothing was committed to it.

Opening a table replays its log, which takes milliseconds, and a run looks at its tables a hundred times. The file of
the newest commit tells whether the table is still the one that was opened: another process that commits adds the next
one, and a table that was removed and made anew has other files. Only local logs can be asked that; tables elsewhere are
opened each time.
"""

from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import deltalake
from deltalake.exceptions import TableNotFoundError

_MOST = 256  # tables that are kept


class _Handle(NamedTuple):
    table: deltalake.DeltaTable
    stamp: tuple[int, ...]


_handles: dict[str, _Handle] = {}


def newest(uri: str) -> deltalake.DeltaTable | None:
    """The table as it is now. Whoever commits through it moves it, for all who hold it."""
    known = _handles.get(uri)
    if known and known.stamp == _stamp(uri, known.table.version()):
        return known.table
    try:
        table = deltalake.DeltaTable(uri)
    except TableNotFoundError:
        _handles.pop(uri, None)
        return None
    remember(uri, table)
    return table


def at_version(uri: str, version: int) -> deltalake.DeltaTable:
    """Nobody may commit through it."""
    table = newest(uri)
    if table and table.version() == version:
        return table
    key = f"{uri}@{version}"
    stamp = None if "://" in uri else _commit(uri, version)
    known = _handles.get(key)
    if known is None or known.stamp != stamp:
        known = _Handle(deltalake.DeltaTable(uri, version=version), stamp or ())
        _keep(key, known if stamp else None)
    return known.table


def data_files(table: deltalake.DeltaTable, wanted: list[tuple[str, str, Any]] | None = None) -> list[str]:
    """Of the partitions that are wanted; delta-rs quotes them, also where they are names of local files."""
    files = table.file_uris(file_pruning_predicate=wanted)
    return [file if "://" in file else unquote(file) for file in files]


def remember(uri: str, table: deltalake.DeltaTable) -> None:
    """Keep a table that was just opened or written."""
    stamp = _stamp(uri, table.version())
    _keep(uri, _Handle(table, stamp) if stamp else None)


def _keep(key: str, handle: _Handle | None) -> None:
    if handle is None:
        _handles.pop(key, None)
        return
    if len(_handles) >= _MOST:
        _handles.clear()
    _handles[key] = handle


def _stamp(uri: str, version: int) -> tuple[int, ...] | None:
    """What tells the commit of a version from every other; None when a later one is there, or nobody can tell."""
    if "://" in uri or _file(uri, version + 1).exists():
        return None
    return _commit(uri, version)


def _commit(uri: str, version: int) -> tuple[int, ...] | None:
    try:
        commit = _file(uri, version).stat()
    except FileNotFoundError:
        return None
    return commit.st_ino, commit.st_mtime_ns, commit.st_ctime_ns, commit.st_size


def _file(uri: str, version: int) -> Path:
    return Path(f"{uri}/_delta_log/{version:020}.json")
