"""Find what to read: directories, globs, files and archives become work of even size, one piece per task.

Planning only lists names and sizes; nothing is opened here.
"""

import glob
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.fs as pafs

from winnow.errors import UsageError

PIECE_FILES = 256
PIECE_BYTES = 32 * 1024 * 1024
SHARE_BYTES = 128 * 1024 * 1024  # of a large archive or container
MAX_SHARES = 8  # of one file: each of them splits the whole file, and that is a third of the work
SHARE_ITEMS = 64  # neighbours that are in one share
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
COMPRESSED = (".gz", ".tgz", ".zip")
PACKED = 8  # bytes that a byte of a compressed file is taken for
_WILDCARD = re.compile(r"[*?\[]")


class File(NamedTuple):
    path: str  # absolute, or a URI
    size: int
    problem: str = ""  # why it cannot be read, found while listing
    root: str = ""  # of a local file: the given place, which is not left when it is opened
    target: str = ""  # where it lies below `root`, without links, when `path` does not tell

    @property
    def inside(self) -> str:
        """Where a local file lies below its root."""
        return self.target or self.path[len(self.root) :].lstrip("/")


class Piece(NamedTuple):
    """What one task reads, in order."""

    files: tuple[File, ...]
    size: int  # about as many bytes are judged
    share: int = 0  # of a large archive or container several tasks split all and judge a share of the records each
    shares: int = 1

    def takes(self, number: int) -> bool:
        """Says whether this piece has the item of this number.

        >>> [Piece((), 0, share, 3).takes(70) for share in range(3)]
        [False, True, False]
        """
        return number // SHARE_ITEMS % self.shares == self.share


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
    """Groups small files and shares large archives and containers; the largest pieces first, so that no task ends late.

    Where a record of a container begins is known only to who has read all before it, so every share is split in full.
    """
    pieces: list[Piece] = []
    group: list[File] = []
    size = 0
    for file in files:
        unpacked = file.size * (PACKED if file.path.lower().endswith(COMPRESSED) else 1)
        if unpacked >= PIECE_BYTES:
            can_share = containers or is_archive(file.path)
            shares = max(min(unpacked // SHARE_BYTES, MAX_SHARES), 1) if can_share else 1
            pieces += [Piece((file,), unpacked // shares, share, shares) for share in range(shares)]
            continue
        if group and (len(group) == PIECE_FILES or size + unpacked > PIECE_BYTES):
            pieces.append(Piece(tuple(group), size))
            group, size = [], 0
        group.append(file)
        size += unpacked
    if group:
        pieces.append(Piece(tuple(group), size))
    return sorted(pieces, key=lambda piece: -piece.size)


class _Root(NamedTuple):
    given: str  # the place as it was named: paths of what is found there begin so
    opened: str  # the same, unless it is a link, which is the caller's own and followed once
    real: Path  # without any link

    def file(self, path: str, size: int, inside: str) -> File:
        return File(path, size, root=self.opened, target="" if path == f"{self.opened}/{inside}" else inside)


def _root(folder: Path) -> _Root:
    real = folder.resolve()
    return _Root(str(folder), str(real if folder.is_symlink() else folder), real)


def _local(path: str) -> Iterator[File]:
    given = Path(path).absolute()
    if given.is_dir():
        yield from _walk(given, _root(given))
    elif given.is_symlink():
        yield _stat(given, _root(given.resolve().parent))
    elif given.exists():
        yield _stat(given, _root(given.parent))
    else:
        yield from _glob(path)


def _glob(pattern: str) -> Iterator[File]:
    """What stands before the first wildcard is the given place; linked folders are reported, as in `_walk`."""
    root = _root(Path(_WILDCARD.split(pattern)[0] + "*").absolute().parent)
    for name in glob.glob(pattern, recursive=True):
        path = Path(name).absolute()
        if path.is_dir() and path.resolve() == root.real / path.relative_to(root.given):
            yield from _walk(path, root)
        else:
            yield _stat(path, root)


def _walk(folder: Path, root: _Root) -> Iterator[File]:
    """Every file below a folder of `root` to which no link leads."""
    folders = [str(folder)]
    while folders:
        current = folders.pop()
        try:
            entries = list(os.scandir(current))
        except OSError as error:
            yield File(current, 0, _words(error))
            continue
        for entry in entries:
            # Only links need to be resolved; linked directories are reported, not entered and not passed over.
            if entry.is_symlink():
                yield _stat(Path(entry.path), root)
            elif entry.is_dir():
                folders.append(entry.path)
            elif entry.is_file():
                yield _regular(entry, root)
            else:
                yield File(entry.path, 0, "not a regular file")


def _regular(entry: os.DirEntry[str], root: _Root) -> File:
    try:
        return root.file(entry.path, entry.stat().st_size, entry.path[len(root.given) :].lstrip("/"))
    except OSError as error:  # it is gone again
        return File(entry.path, 0, _words(error))


def _stat(path: Path, root: _Root) -> File:
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(root.real):
            return File(str(path), 0, "outside_root")
        if not target.is_file():
            return File(str(path), 0, "not a regular file")
        return root.file(str(path), target.stat().st_size, str(target.relative_to(root.real)))
    except (OSError, RuntimeError) as error:
        return File(str(path), 0, _words(error))


def _remote(uri: str) -> Iterator[File]:
    scheme = uri.split("://", maxsplit=1)[0]
    try:
        filesystem, path = pafs.FileSystem.from_uri(uri)
        info = filesystem.get_file_info(path)
    except (OSError, ValueError) as error:  # ArrowInvalid is a ValueError
        raise UsageError("no_input", f"cannot read {uri!r}: {error}", hint="is the address right?") from error
    if scheme == "file":
        yield from (file._replace(path=f"file://{file.path}", target=file.inside) for file in _local(path))
    elif info.type == pafs.FileType.Directory:
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
