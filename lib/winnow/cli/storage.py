"""What Python, Spark and delta-rs say of a place that is full or out of reach, as one sentence."""

import errno
import re

from winnow.errors import TransientError, UsageError, WinnowError

_FULL = ("No space left on device", "Disk quota exceeded", "StorageFull")
_READ_ONLY = ("Read-only file system", "Permission denied", "AccessDeniedException", "Mkdirs failed to create")
_PLACE = re.compile(r"(?:Mkdirs failed to create |Exception: |')(?:file:/?/?)?(/[^\s:'()]+)")


def storage_error(error: BaseException, usual: str = "") -> WinnowError | None:
    """Returns what is wrong with a place, from what Python, Spark or delta-rs say of it; None if it is something else.

    `usual` is the place where no other one is named.

    >>> storage_error(OSError(28, "No space left on device", "/lake/x"))
    TransientError('disk_full: there is no room left for /lake/x (free some, then run the same command again)')
    >>> storage_error(RuntimeError("java.io.IOException: Mkdirs failed to create file:/lake/x (exists=false)")).code
    'cannot_write'
    """
    text, number = str(error), getattr(error, "errno", None)
    if number in {errno.ENOSPC, errno.EDQUOT} or any(words in text for words in _FULL):
        hint = "free some, then run the same command again"
        return TransientError("disk_full", f"there is no room left for {_place(error, usual)}", hint=hint)
    if "S3AFileSystem not found" in text:
        hint = "`winnow setup-jars --s3` gets them, 640 MB; a Connect server needs them where it runs"
        return UsageError("jars_missing", "Spark has no jars for lakes at s3a://", hint=hint)
    if number in {errno.EACCES, errno.EPERM, errno.EROFS} or any(words in text for words in _READ_ONLY):
        hint = "is it read-only, or another user's? `winnow doctor` looks at the lake"
        return WinnowError("cannot_write", f"{_place(error, usual)} cannot be read or written", hint=hint)
    return None


def _place(error: BaseException, usual: str) -> str:
    in_text = _PLACE.search(str(error))
    return str(getattr(error, "filename", None) or (in_text[1] if in_text else usual or "the output"))
