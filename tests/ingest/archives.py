"""Archives to read, and what is read from them."""

import io
import tarfile
import zipfile
from pathlib import Path

from winnow.ingest.expansion import DEFAULT_EXPANSION, ExpansionLimits
from winnow.ingest.read import Item, read_file
from winnow.ingest.sources import list_files


def items(
    *paths: Path,
    record_tag: str | None = None,
    max_bytes: int = 10_000,
    expansion: ExpansionLimits = DEFAULT_EXPANSION,
) -> list[Item]:
    return [
        item
        for file in list_files([str(path) for path in paths])
        for item in read_file(file, record_tag=record_tag, max_bytes=max_bytes, expansion=expansion)
    ]


def outcome(item: Item) -> tuple[str, str | bytes]:
    name = item.place.member or Path(item.place.source).name
    return name, str(item.refused.reason) if item.refused else item.content


def tar_bytes(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tar_member(name: bytes, size: bytes, kind: bytes, body: bytes = b"") -> bytes:
    block = bytearray(512)
    block[: len(name)], block[124 : 124 + len(size)], block[156:157] = name, size, kind
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + body + bytes(-len(body) % 512)


def zip_bytes(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()
