"""Open what was listed, and nothing else: between listing and opening a sender may put something else in its place.

Links are followed only while listing. From the given place down, every folder and the file itself are opened one by one
without following links, so nothing outside of it is ever opened, and a pipe or a device is not waited for.
"""

import errno
import io
import os
import stat
from typing import Any, cast

import pyarrow.fs as pafs

from winnow.ingest.sources import File
from winnow.ingest.unpack import BUFFER

_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_file(file: File) -> tuple[io.BufferedReader, int]:
    """The stream and the size of a listed file; raises OSError, with a sentence, when it cannot be had."""
    if not file.root:
        filesystem, name = pafs.FileSystem.from_uri(file.path)
        return io.BufferedReader(cast(Any, filesystem.open_input_file(name)), BUFFER), file.size
    descriptor = _open_below(file.root, file.inside.split("/"))
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "was a regular file when it was listed, and is none any more; it was not read")
    return open(descriptor, "rb"), status.st_size


def _open_below(root: str, parts: list[str]) -> int:
    *folders, name = parts
    folder = -1
    try:
        folder = os.open(root, _FOLDER)
        for part in folders:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.ENOTDIR}:
            words = "it or a folder above it became a link after it was listed; it was not read"
            raise OSError(error.errno, words) from error
        raise
    finally:
        if folder >= 0:
            os.close(folder)
