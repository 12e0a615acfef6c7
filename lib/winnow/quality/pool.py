"""Documents that the oracle may be asked about: whole row groups by chance, so that little is read."""

import random
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from winnow.lake.parts import filesystem
from winnow.lake.store import partition_files
from winnow.quality.outcome import Outcome

_GROUPS = 32  # row groups; ingest writes about 4 MB each


class Group(NamedTuple):
    uri: str
    number: int


class Pool(NamedTuple):
    groups: list[Group]
    documents: list[str]  # ids, ascending
    oversized: int  # documents that are left out

    def contents(self, wanted: Collection[str]) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        ids = pa.array(sorted(wanted), pa.string())
        for group in self.groups:
            if pc.any(pc.is_in(_read(group, ["document_id"]).column(0), value_set=ids)).as_py():
                rows = _read(group, ["document_id", "content"])
                rows = rows.filter(pc.is_in(rows.column(0), value_set=ids))
                found |= dict(zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True))
        return found


def draw_pool(outcome: Outcome, size: int, max_bytes: int, rng: random.Random) -> Pool:
    """At least `size` documents, if there are as many in so many row groups."""
    version = outcome.inputs["documents"]
    files = partition_files(outcome.lake, "documents", {"ingest_date": outcome.date}, version=version)
    groups = list(_groups(files))
    rng.shuffle(groups)
    chosen: list[Group] = []
    documents: list[str] = []
    oversized = 0
    for group in groups[:_GROUPS]:
        if len(documents) >= size:
            break
        rows = _read(group, ["document_id", "size_bytes"])
        fits = pc.less_equal(rows.column(1), max_bytes)
        documents += rows.filter(fits).column(0).to_pylist()
        oversized += rows.num_rows - pc.sum(fits).as_py()
        chosen.append(group)
    return Pool(chosen, sorted(documents), oversized)


def _groups(files: list[str]) -> Iterator[Group]:
    for uri in files:
        with _open(uri) as stream:
            yield from (Group(uri, number) for number in range(pq.ParquetFile(stream).metadata.num_row_groups))


def _read(group: Group, columns: list[str]) -> pa.Table:
    with _open(group.uri) as stream:
        return pq.ParquetFile(stream).read_row_group(group.number, columns=columns)


def _open(uri: str) -> Any:
    files, path = filesystem(uri)
    return files.open_input_file(path)
