"""The bundled sample: a few thousand documents in the forms people send them, with some bad ones, and profiles."""

import gzip
import io
import json
import random
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from winnow.generate.vocabularies import CITIES, COUNTRIES, CURRENCIES, INVOICE, PARTS, VOCABULARIES, WORDS

DATE = (2026, 11, 16, 0, 0, 0)  # of archive members: archives too are the same bytes for the same seed


class Sample(NamedTuple):
    documents: Path  # a directory: a .tar.gz, a .zip, single files, bad ones among them
    container: Path  # one file of many <trade> records
    profiles: Path


def write_sample(folder: Path, *, documents: int = 3000, profiles: int = 600, seed: int = 1) -> Sample:
    """Write the sample below `folder`; a third of the documents each as archive, zip and container."""
    sample = Sample(folder / "documents", folder / "trades.xml.gz", folder / "profiles.jsonl")
    (sample.documents / "loose").mkdir(parents=True, exist_ok=True)
    share = documents // 3
    write_tar(sample.documents / "news.tar.gz", make("news", share, seed))
    with zipfile.ZipFile(sample.documents / "invoices.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in make("invoice", share, seed + 1):
            archive.writestr(zipfile.ZipInfo(name, DATE), text, zipfile.ZIP_DEFLATED)
    records = "".join(text for _, text in make("trade", share, seed + 2))
    sample.container.write_bytes(gzip.compress(f"<trades>\n{records}</trades>\n".encode(), mtime=0))
    for name, content in _loose(seed + 3):
        (sample.documents / "loose" / name).write_bytes(content)
    sample.profiles.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in make_profiles(profiles, seed))
    )
    return sample


def make(vocabulary: str, count: int, seed: int) -> Iterator[tuple[str, str]]:
    """(file name, XML text) of `count` documents."""
    rng = random.Random(f"{vocabulary}/{seed}")
    for number in range(count):
        yield f"{vocabulary}-{number:06d}.xml", VOCABULARIES[vocabulary](rng)


def write_tar(path: Path, documents: Iterable[tuple[str, str | bytes]]) -> None:
    with (
        gzip.GzipFile(path, "wb", mtime=0, compresslevel=4) as stream,
        tarfile.open(fileobj=stream, mode="w") as archive,
    ):
        for name, text in documents:
            content = text if isinstance(text, bytes) else text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def _loose(seed: int) -> Iterator[tuple[str, bytes]]:
    """Single files: encodings, a duplicate, and what must go to quarantine."""
    texts = [text for _, text in make("invoice", 20, seed)]
    for number, text in enumerate(texts):
        yield f"utf8-{number:02d}.xml", text.encode()
        yield f"utf16-{number:02d}.xml", text.replace("UTF-8", "UTF-16").encode("utf-16")
    latin = texts[0].replace("UTF-8", "ISO-8859-1").replace("<c:ID>INV", "<c:ID>Façade-INV")
    yield "latin1.xml", latin.encode("latin-1")
    yield "same-bytes-again.xml", texts[0].encode()
    yield "bad-cut-off.xml", texts[1].encode()[:-40]
    yield "bad-empty.xml", b""
    yield "bad-encoding.xml", b'<?xml version="1.0" encoding="UTF-7"?><a/>'
    yield "bad-entities.xml", b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>"
    yield "bad-too-deep.xml", b"<a>" * 400 + b"</a>" * 400


def make_profiles(count: int, seed: int) -> Iterator[dict[str, object]]:
    """Profiles over the three vocabularies: paths, twigs, value tests, some that only libxml2 can decide."""
    rng = random.Random(f"profiles/{seed}")
    namespaces = {"i": INVOICE, "c": PARTS}
    shapes: tuple[Callable[[], tuple[str, dict[str, str]]], ...] = (
        lambda: (f"//keyword[@key='{rng.choice(WORDS)}']", {}),
        lambda: (f"/nitf/head/docdata/urgency[@ed-urg <= {rng.randint(1, 8)}]", {}),
        lambda: (f"//body.content//location[@city='{rng.choice(CITIES)}']", {}),
        lambda: (f"//p[em][contains(., '{rng.choice(WORDS[:5])}')]", {}),
        lambda: ("/nitf//*/caption", {}),
        lambda: (
            f"/i:Invoice[c:Supplier/c:Country='{rng.choice(COUNTRIES)}']/c:Line[c:Amount > {rng.randint(1, 900)}]",
            namespaces,
        ),
        lambda: (f"//c:Line[c:Quantity/@unit='KG'][c:Item/c:Tax/c:Percent={rng.choice((0, 6, 13, 23))}]", namespaces),
        lambda: (
            f"/i:Invoice/i:Total[@currency='{rng.choice(CURRENCIES)}'][. >= {rng.randint(100, 5000)}]",
            namespaces,
        ),
        lambda: (f"/trade[@venue='XLIS']/leg[@side='buy' and @qty > {rng.randint(1, 5000)}]", {}),
        lambda: (f"//leg[@ccy='{rng.choice(CURRENCIES)}'] | //settle[starts-with(@date, '2026-11-0')]", {}),
        lambda: (f"//trade[not(leg[@side='sell'])][count(leg) > {rng.randint(1, 9)}]", {}),
    )
    for number in range(count):
        xpath, bound = rng.choice(shapes)()
        desk = rng.randint(1, 20)
        row: dict[str, object] = {
            "profile_id": f"profile-{number:06d}",
            "xpath": xpath,
            "subscriber": f"desk-{desk:02d}",
        }
        row["destination"] = f"queue/desk-{desk:02d}"
        if bound:
            row["namespaces"] = bound
        yield row
