"""Any file system that pyarrow reads, by address, with its arguments given once.

Workers open files by themselves and do not see a session's `fs.s3a.*` settings, so credentials travel with the task, or
are in the environment of their machine (`AWS_*`).
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from winnow.errors import UsageError


def filesystem_of(uri: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """Returns the file system of a folder or URI, and the path in it.

    >>> filesystem_of("/landing/today/", {})[1]
    '/landing/today'
    """
    import pyarrow.fs as pafs

    uri = uri.replace("s3a://", "s3://", 1)
    if "://" not in uri:
        return pafs.LocalFileSystem(), str(Path(uri).absolute())
    hint = "a folder, s3://bucket/folder, gs://…, or another address that pyarrow.fs reads"
    try:
        if uri.startswith("s3://") and (given := options or _s3_of_environment()):
            return pafs.S3FileSystem(**given), uri.removeprefix("s3://").rstrip("/")
        filesystem, folder = pafs.FileSystem.from_uri(uri)
    except (OSError, ValueError, TypeError) as error:  # ArrowInvalid is a ValueError
        raise UsageError("bad_place", f"cannot use {uri!r}: {error}", hint=hint) from error
    return filesystem, folder.rstrip("/")


@contextmanager
def local_file(place: str, options: Mapping[str, Any]) -> Iterator[str]:
    """Yields the path of a file; of one that is elsewhere, the path of a copy, which goes again.

    Raises:
        UsageError: there is no such file.
    """
    if "://" not in place:
        yield place
        return
    filesystem, path = filesystem_of(place, options)
    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        copy = Path(folder, path.rpartition("/")[2])
        try:
            with filesystem.open_input_stream(path, compression=None) as source, copy.open("wb") as out:
                shutil.copyfileobj(source, out)
        except OSError as error:
            raise UsageError("no_input", f"cannot read {place!r}: {error}", hint="is the address right?") from error
        yield str(copy)


def _s3_of_environment() -> dict[str, str]:
    """Region and endpoint: pyarrow alone would ask Amazon for the region of a bucket."""
    scheme, _, host = os.environ.get("AWS_ENDPOINT_URL", "").rpartition("://")
    named = {
        "region": os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
        "endpoint_override": host,
        "scheme": scheme,
    }
    return {name: value for name, value in named.items() if value}
