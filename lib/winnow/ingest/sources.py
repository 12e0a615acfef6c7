"""Find what to read: directories, globs, files and archives become work of even size, one piece per task.

Planning only lists names and sizes; nothing is opened here.
"""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.fs as pafs

from winnow.errors import UsageError

PIECE_FILES = 256
PIECE_BYTES = 32 * 1024 * 1024
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")


class File(NamedTuple):
    path: str  # absolute, or a URI
    size: int
    problem: str = ""  # why it cannot be read, found while listing


class Piece(NamedTuple):
    """What one task reads, in order."""

    files: tuple[File, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)


def is_remote(path: str) -> bool:
    return "://" in path


def list_files(paths: Iterable[str]) -> Iterator[File]:
    """Every file below the given directories, globs and files, sorted by path, each once."""
    found: dict[str, File] = {}
    for path in paths:
        some = False
        for file in _files(path):
            some = True
            found.setdefault(file.path, file)
        if not some:
            raise _no_input(path)
    yield from (found[path] for path in sorted(found))


def require_input(paths: Iterable[str]) -> None:
    """Raises what `list_files` would raise, as soon as one file of each path is found."""
    for path in paths:
        if next(_files(path), None) is None:
            raise _no_input(path)


def _files(path: str) -> Iterator[File]:
    return _remote(path) if is_remote(path) else _local(path)


def _no_input(path: str) -> UsageError:
    return UsageError("no_input", f"nothing to read at {path!r}", hint="give a file, a directory or a glob")


def plan(files: Iterable[File], *, containers: bool) -> list[Piece]:
    """Group small files, leave archives and containers alone; the largest pieces first, so that no task ends late."""
    pieces: list[Piece] = []
    group: list[File] = []
    size = 0
    for file in files:
        if containers or is_archive(file.path) or file.size >= PIECE_BYTES:
            pieces.append(Piece((file,)))
            continue
        if group and (len(group) == PIECE_FILES or size + file.size > PIECE_BYTES):
            pieces.append(Piece(tuple(group)))
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        pieces.append(Piece(tuple(group)))
    return sorted(pieces, key=lambda piece: -piece.size)


def spread(pieces: list[Piece], bins: int) -> list[list[Piece]]:
    """At most `bins` lists of about equal size, by giving each piece, largest first, to the lightest list."""
    lists: list[list[Piece]] = [[] for _ in range(min(bins, len(pieces)))]
    weights = [0] * len(lists)
    for piece in pieces:
        lightest = weights.index(min(weights))
        lists[lightest].append(piece)
        weights[lightest] += piece.size + len(piece.files)
    return lists


def _local(path: str) -> Iterator[File]:
    names = [path] if Path(path).exists() or Path(path).is_symlink() else glob.glob(path, recursive=True)
    for name in names:
        root = Path(name).absolute()
        if root.is_dir():
            yield from _walk(root)
        elif root.is_file() or root.is_symlink():
            yield _stat(root, root.resolve().parent)


def _walk(root: Path) -> Iterator[File]:
    inside = root.resolve()
    folders = [str(root)]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            yield File(folder, 0, _words(error))
            continue
        for entry in entries:
            # Only links need to be resolved; linked directories are reported, not entered and not passed over.
            if entry.is_symlink():
                yield _stat(Path(entry.path), inside)
            elif entry.is_dir():
                folders.append(entry.path)
            elif entry.is_file():
                yield File(entry.path, entry.stat().st_size)
            else:
                yield File(entry.path, 0, "not a regular file")


def _stat(path: Path, inside: Path) -> File:
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(inside):
            return File(str(path), 0, "outside_root")
        if not target.is_file():
            return File(str(path), 0, "not a regular file")
        return File(str(path), target.stat().st_size)
    except (OSError, RuntimeError) as error:
        return File(str(path), 0, _words(error))


def _remote(uri: str) -> Iterator[File]:
    scheme = uri.split("://", maxsplit=1)[0]
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
        info = filesystem.get_file_info(path)
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise UsageError("no_input", f"cannot read {uri!r}: {error}", hint="is the address right?") from error
    if info.type == pafs.FileType.Directory:
        for entry in filesystem.get_file_info(pafs.FileSelector(path, recursive=True)):
            if entry.type == pafs.FileType.File:
                yield File(f"{scheme}://{entry.path}", entry.size)
    elif info.type == pafs.FileType.File:
        yield File(uri, info.size)


def _words(error: BaseException) -> str:
    """An error's words without the path, which has a column of its own.

    >>> _words(PermissionError(13, "Permission denied", "/secret"))
    'Permission denied'
    """
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
