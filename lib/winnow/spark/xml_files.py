"""What `winnow_xml` reads: files here, as ingest lists and opens them, and files of other file systems."""

import io
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, cast

from winnow.errors import UsageError
from winnow.ingest.opening import open_file
from winnow.ingest.sources import File, list_files
from winnow.ingest.unpack import BUFFER
from winnow.tables.filesystems import filesystem_of

_WILDCARDS = "*?["


def list_inputs(paths: Iterable[str], options: Mapping[str, Any]) -> list[File]:
    """Every file of the given places, each once, sorted by path; raises UsageError where there is none."""
    found: dict[str, File] = {}
    for path in paths:
        files = list(_list_remote(path, options) if _is_remote(path) else list_files([path]))
        if not files:
            raise UsageError("no_input", f"nothing to read at {path!r}", hint="give a file, a directory or a glob")
        found |= {file.path: file for file in files if file.path not in found}
    return [found[path] for path in sorted(found)]


def open_input(file: File, options: Mapping[str, Any]) -> tuple[io.BufferedReader, int]:
    """As `winnow.ingest.opening.open_file`, anywhere."""
    if file.root or not _is_remote(file.path):
        return open_file(file)
    filesystem, path = filesystem_of(file.path, options)
    return io.BufferedReader(cast(Any, filesystem.open_input_file(path)), BUFFER), file.size


def _is_remote(path: str) -> bool:
    return "://" in path and not path.startswith("file://")


def _list_remote(uri: str, options: Mapping[str, Any]) -> Iterator[File]:
    import pyarrow.fs as pafs

    scheme = uri.partition("://")[0]
    folder, pattern = _without_wildcards(uri)
    filesystem, path = filesystem_of(folder, options)
    try:
        given = filesystem.get_file_info(path)
        if given.type == pafs.FileType.File and not pattern:
            yield File(uri, given.size)
        elif given.type == pafs.FileType.Directory:
            for entry in filesystem.get_file_info(pafs.FileSelector(path, recursive=True)):
                inside = entry.path.removeprefix(path).strip("/").split("/")
                if entry.type == pafs.FileType.File and is_below(inside, pattern):
                    yield File(f"{scheme}://{entry.path}", entry.size)
    except OSError as error:
        raise UsageError("no_input", f"cannot read {uri!r}: {error}", hint="is the address right?") from error


def _without_wildcards(uri: str) -> tuple[str, list[str]]:
    """The folder above the first part that has a wildcard, and the parts from there on."""
    parts = uri.rstrip("/").split("/")
    first = next((k for k, part in enumerate(parts) if any(sign in part for sign in _WILDCARDS)), len(parts))
    return "/".join(parts[:first]), parts[first:]


def is_below(path: list[str], pattern: list[str]) -> bool:
    """Says whether a glob names the path or a folder above it; `**` is any number of folders.

    >>> is_below(["2026", "a.xml"], ["*", "*.xml"]), is_below(["2026", "a.xml"], ["20*"]), is_below(["a.gz"], ["*.xml"])
    (True, True, False)
    >>> is_below(["x", "y", "a.xml"], ["**", "*.xml"])
    True
    """
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(is_below(path[k:], pattern[1:]) for k in range(len(path)))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and is_below(path[1:], pattern[1:])
