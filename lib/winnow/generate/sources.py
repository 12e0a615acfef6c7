"""What a call names: DTDs, which are shapes that are shipped or files, and sample documents."""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from winnow.errors import DataError, UsageError
from winnow.generate.dtd import Dtd, read_dtd
from winnow.generate.shapes import SHAPES, make_dtd
from winnow.ingest.accept import DEFAULT_LIMITS, Refused, accept
from winnow.ingest.read import read_file
from winnow.ingest.sources import list_files

ALL = "all"


def dtds_of(names: Sequence[str], root: str = "") -> list[Dtd]:
    """In the order of the names; `root` is for a single file."""
    shapes = [shape for name in names for shape in (SHAPES if name == ALL else (name,))]
    if root and len(shapes) > 1:
        raise UsageError("one_root", f"--root {root} for {len(shapes)} DTDs", hint="give one --dtd with it")
    return [_dtd(name, root) for name in shapes]


def _dtd(name: str, root: str) -> Dtd:
    if name in SHAPES:
        return read_dtd(make_dtd(name), name=name, root=root)
    file = Path(name)
    if not file.is_file():
        words = f"{name!r} is neither a file nor a shape"
        raise UsageError("no_dtd", words, hint=f"give a .dtd file, {ALL}, or one of {', '.join(SHAPES)}")
    return read_dtd(file, name=file.stem, root=root)


def read_samples(paths: Sequence[str], most: int) -> list[bytes]:
    """The first documents that are XML."""
    return [content for _, content in read_named_samples(paths, most)]


def read_named_samples(paths: Sequence[str], most: int, record_tag: str | None = None) -> list[tuple[str, bytes]]:
    """The same, with their names."""
    limit = DEFAULT_LIMITS.max_bytes
    items = (item for file in list_files(paths) for item in read_file(file, record_tag=record_tag, max_bytes=limit))
    good = (
        (item.place.name, item.content)
        for item in items
        if not item.refused and not isinstance(accept(item.content, DEFAULT_LIMITS), Refused)
    )
    samples = list(islice(good, most))
    if not samples:
        raise DataError("no_samples", f"no document in {', '.join(paths)} is XML", hint="`winnow match` says why")
    return samples
