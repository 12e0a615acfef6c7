"""Where index files lie, and the cache of a worker's machine in which they are mapped."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from winnow.errors import DataError, UsageError
from winnow.tables.filesystems import filesystem_of

MANIFEST = "index.json"  # what an index consists of
CACHE_BYTES = 16 << 30
BLOCK = 8 << 20


@dataclass(frozen=True)
class Place:
    """A folder or a URI such as `s3://bucket/folder`, with the arguments of pyarrow's file system for it."""

    uri: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def open_input(self, name: str) -> IO[bytes]:
        filesystem, folder = self._filesystem()
        return cast(IO[bytes], filesystem.open_input_stream(f"{folder}/{name}"))

    def open_output(self, name: str) -> IO[bytes]:
        filesystem, folder = self._filesystem()
        filesystem.create_dir(folder, recursive=True)
        return cast(IO[bytes], filesystem.open_output_stream(f"{folder}/{name}"))

    def rename(self, name: str, new: str) -> None:
        filesystem, folder = self._filesystem()
        filesystem.move(f"{folder}/{name}", f"{folder}/{new}")

    def _filesystem(self) -> tuple[Any, str]:
        return filesystem_of(self.uri, self.options)


def cached(place: Place, name: str) -> Path:
    """Returns the file `name` of a place in this machine's cache, fetched once; the name is its content hash."""

    def fetch(out: IO[bytes]) -> None:
        digest = hashlib.sha256()
        with place.open_input(name) as source:
            while block := source.read(BLOCK):
                digest.update(block)
                out.write(block)
        if digest.hexdigest() != name.partition(".")[0]:
            hint = "build the index anew"
            raise DataError("index_content", f"{place.uri}/{name} is not what its name says", hint=hint)

    return kept(name, fetch)


def kept(name: str, write: Callable[[IO[bytes]], None]) -> Path:
    """Returns the file of this name in the cache, written aside and renamed where it is not there yet.

    One process of a machine writes it, while the others wait. The cache is WINNOW_CACHE, or a folder among the
    temporary files, of at most WINNOW_CACHE_BYTES: what was not opened for longest goes first.
    """
    folder = _cache_folder()
    target = folder / name
    with (folder / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _make_room(folder)
            aside = folder / f".{name}.fetching"
            with aside.open("wb") as out:
                write(out)
            aside.replace(target)
        os.utime(target)
    return target


def _cache_folder() -> Path:
    folder = Path(os.environ.get("WINNOW_CACHE") or Path(tempfile.gettempdir(), f"winnow-cache-{os.getuid()}"))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise UsageError("bad_cache", f"{folder} belongs to another user", hint="set WINNOW_CACHE to a folder of yours")
    return folder


def _make_room(folder: Path) -> None:
    """A file that is mapped can be removed: its pages live until the last worker lets go of them."""
    limit = int(os.environ.get("WINNOW_CACHE_BYTES", CACHE_BYTES))
    files = sorted((file for file in folder.glob("[!.]*") if file.is_file()), key=lambda file: file.stat().st_mtime)
    size = sum(file.stat().st_size for file in files)
    for file in files:
        if size <= limit:
            return
        size -= file.stat().st_size
        file.unlink(missing_ok=True)
