"""Where index files lie and how workers reach them: any file system that pyarrow reads, with options given once.

Workers fetch by themselves and do not see a session's `fs.s3a.*` settings, so credentials travel with the index.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from winnow.errors import UsageError

MANIFEST = "index.json"  # what an index consists of
CACHE_BYTES = 16 << 30


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
        import pyarrow.fs as pafs

        uri = self.uri.replace("s3a://", "s3://", 1)
        if "://" not in uri:
            return pafs.LocalFileSystem(), str(Path(uri).absolute())
        if self.options and uri.startswith("s3://"):
            return pafs.S3FileSystem(**self.options), uri.removeprefix("s3://").rstrip("/")
        try:
            filesystem, folder = pafs.FileSystem.from_uri(uri)
        except (OSError, ValueError) as error:
            hint = "a folder, s3://bucket/folder, gs://…, or another address that pyarrow.fs reads"
            raise UsageError("bad_place", f"cannot use {self.uri!r}: {error}", hint=hint) from error
        return filesystem, folder.rstrip("/")


def cached(place: Place, name: str) -> Path:
    """Returns the file `name` of a place in this machine's cache, fetched once; the name is its content hash."""

    def fetch(out: IO[bytes]) -> None:
        with place.open_input(name) as source:
            shutil.copyfileobj(source, out, 8 << 20)

    return kept(name, fetch)


def kept(name: str, write: Callable[[IO[bytes]], None]) -> Path:
    """Returns the file of this name in the cache, written aside and renamed where it is not there yet.

    The cache is WINNOW_CACHE, or a folder among the temporary files, of at most WINNOW_CACHE_BYTES: what was not
    opened for longest goes first.
    """
    folder = Path(os.environ.get("WINNOW_CACHE") or Path(tempfile.gettempdir(), f"winnow-cache-{os.getuid()}"))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / name
    if not target.exists():
        _make_room(folder)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".fetching-", delete=False) as aside:
            write(cast(IO[bytes], aside))
        Path(aside.name).replace(target)
    os.utime(target)
    return target


def _make_room(folder: Path) -> None:
    """A file that is mapped can be removed: its pages live until the last worker lets go of them."""
    limit = int(os.environ.get("WINNOW_CACHE_BYTES", CACHE_BYTES))
    files = sorted((file for file in folder.iterdir() if file.is_file()), key=lambda file: file.stat().st_mtime)
    size = sum(file.stat().st_size for file in files)
    for file in files:
        if size <= limit:
            return
        size -= file.stat().st_size
        file.unlink(missing_ok=True)
