"""Data files of a table, written where the data is: by the Python worker that made it, with Arrow, not through the JVM.

A part is a Parquet file inside the table's folder that no commit names yet, so no reader sees it. The driver adopts it
(see `winnow.lake.store`) or drops it; one left behind by a killed run is removed by VACUUM, like any orphan.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from winnow.errors import DataError
from winnow.lake.contracts import Contract, Shape, require

PART_BYTES = 256 << 20  # of Arrow data; on disk about a fifth
GROUP_BYTES = 4 << 20  # of a row group, at least


class Part(NamedTuple):
    table: str
    path: str  # relative to the table
    rows: int
    size: int


_ARROW = {
    "string": pa.string(),
    "binary": pa.binary(),
    "long": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "date": pa.date32(),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
    "array<int>": pa.list_(pa.field("element", pa.int32())),
    "array<long>": pa.list_(pa.field("element", pa.int64())),
    "array<string>": pa.list_(pa.field("element", pa.string())),
}
_SPARK = {str(arrow): name.replace("long", "bigint") for name, arrow in _ARROW.items()}


def _spark_name(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"array<{_spark_name(kind.value_type)}>"
    return _SPARK.get(str(kind), str(kind))


def arrow_schema(contract: Contract, *, partitions: bool = False) -> pa.Schema:
    """The columns of a part: those of the table without the partition columns, which live in the path."""
    columns = [c for c in contract.columns if partitions or c.name not in contract.partition_by]
    return pa.schema([pa.field(c.name, _ARROW[c.type], nullable=c.nullable) for c in columns])


def filesystem(uri: str) -> tuple[pafs.FileSystem, str]:
    """Where a lake lives, for Arrow: a folder, or a URI such as s3a://bucket/lake."""
    if "://" not in uri:
        return pafs.LocalFileSystem(), str(Path(uri).absolute())
    found: tuple[pafs.FileSystem, str] = pafs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    return found


@contextmanager
def open_parquet(uri: str) -> Iterator[pq.ParquetFile]:
    files, path = filesystem(uri)
    with files.open_input_file(path) as stream:
        yield pq.ParquetFile(stream)


def read_batches(
    reader: pq.ParquetFile,
    groups: Iterable[int],
    columns: list[str],
    *,
    rows: int,
    size: int,
    chosen: "np.ndarray[Any, Any] | None" = None,
) -> Iterator[pa.RecordBatch]:
    """Some row groups in batches of so many rows, or of fewer where these are large: about `size` bytes at the most.

    Of what was read only the rows of the mask `chosen` are kept.
    """
    position = 0
    for group in groups:
        for batch in _group_batches(reader, group, columns, rows=rows, size=size):
            end = position + batch.num_rows
            yield batch if chosen is None else batch.filter(pa.array(chosen[position:end]))
            position = end


def _group_batches(
    reader: pq.ParquetFile, group: int, columns: list[str], *, rows: int, size: int
) -> Iterable[pa.RecordBatch]:
    """A group that is small enough is read at once, which takes less time, and by the thread that wants it."""
    about = reader.metadata.row_group(group)
    if about.total_byte_size <= size:
        found: list[pa.RecordBatch] = reader.read_row_group(group, columns, use_threads=False).to_batches(rows)
        return found
    few = size * about.num_rows // about.total_byte_size
    batches: Iterator[pa.RecordBatch] = reader.iter_batches(max(1, min(rows, few)), row_groups=[group], columns=columns)
    return batches


class PartWriter:
    """Collects batches of one table and one partition into parts of bounded size. Opens nothing until the first row."""

    def __init__(self, lake: str, contract: Contract, partition: Mapping[str, Any]) -> None:
        self._filesystem, self._root = filesystem(f"{lake}/{contract.table}")
        self._contract = contract
        self._schema = arrow_schema(contract)
        self._folder = "".join(f"{name}={partition[name]}/" for name in contract.partition_by)
        self._writer: pq.ParquetWriter | None = None
        self._name = ""
        self._held: list[pa.Table] = []
        self._rows = self._bytes = 0
        self._parts: list[Part] = []

    def write(self, table: pa.Table | pa.RecordBatch) -> None:
        if not table.num_rows:
            return
        columns = tuple((field.name, _spark_name(field.type)) for field in table.schema)
        wanted = self._contract._replace(
            columns=tuple(c for c in self._contract.columns if c.name not in self._contract.partition_by)
        )
        require(wanted, Shape(columns), what=f"the part for {self._contract.table}")
        for column in wanted.columns:
            if not column.nullable and table.column(column.name).null_count:
                raise DataError("contract_broken", f"{self._contract.table}.{column.name} must not be null")
        self._held.append((table if isinstance(table, pa.Table) else pa.Table.from_batches([table])).cast(self._schema))
        if sum(held.nbytes for held in self._held) >= GROUP_BYTES:
            self._write_group()
        if self._bytes >= PART_BYTES:
            self._finish()

    def _write_group(self) -> None:
        if self._writer is None:
            self._writer = self._open()
        group = pa.concat_tables(self._held)
        self._held = []
        self._writer.write_table(group)
        self._rows += group.num_rows
        self._bytes += group.nbytes

    def _open(self) -> pq.ParquetWriter:
        self._name = f"{self._folder}part-{uuid.uuid4()}.zstd.parquet"
        self._filesystem.create_dir(f"{self._root}/{self._folder}", recursive=True)
        key = set(self._contract.key) - set(self._contract.partition_by)  # one column of it has no value twice
        plain = [f.name for f in self._schema if not pa.types.is_binary(f.type) and {f.name} != key]
        return pq.ParquetWriter(
            f"{self._root}/{self._name}",
            self._schema,
            filesystem=self._filesystem,
            **self._compression(),
            use_dictionary=plain,
            write_statistics=plain,
        )

    def _compression(self) -> dict[str, Any]:
        codecs = {c.name: c.codec for c in self._contract.columns if c.name in self._schema.names}
        if set(codecs.values()) == {"zstd"}:
            return {"compression": "zstd", "compression_level": 1}
        return {"compression": codecs, "compression_level": {name: 1 for name in codecs if codecs[name] == "zstd"}}

    def close(self) -> list[Part]:
        """The parts written, in order."""
        self._finish()
        return self._parts

    def _finish(self) -> None:
        if self._held:
            self._write_group()
        if self._writer is None:
            return
        self._writer.close()
        size = self._filesystem.get_file_info(f"{self._root}/{self._name}").size
        self._parts.append(Part(self._contract.table, self._name, self._rows, size))
        self._writer, self._rows, self._bytes = None, 0, 0


def part_table(lake: str, part: Part, columns: list[str] | None = None) -> pa.Table:
    with open_parquet(f"{lake}/{part.table}/{part.path}") as reader:
        return reader.read(columns=columns)


def drop_part(lake: str, part: Part) -> None:
    files, root = filesystem(f"{lake}/{part.table}")
    files.delete_file(f"{root}/{part.path}")


def rewrite_part(
    lake: str, contract: Contract, part: Part, partition: Mapping[str, Any], keep: "np.ndarray[Any, Any]"
) -> list[Part]:
    """The same part with only the rows of the mask `keep`; the old one goes."""
    writer = PartWriter(lake, contract, partition)
    position = 0
    with open_parquet(f"{lake}/{part.table}/{part.path}") as reader:
        for batch in reader.iter_batches(batch_size=1000):
            writer.write(batch.filter(pa.array(keep[position : position + batch.num_rows])))
            position += batch.num_rows
    parts = writer.close()
    drop_part(lake, part)
    return parts


def copy_part(lake: str, uri: str, table: str, partition: Mapping[str, Any]) -> Part:
    """A data file of another table with the same columns, copied as it is."""
    source, path = filesystem(uri)
    files, root = filesystem(f"{lake}/{table}")
    folder = "".join(f"{name}={value}/" for name, value in partition.items())
    name = f"{folder}part-{uuid.uuid4()}.zstd.parquet"
    files.create_dir(f"{root}/{folder}", recursive=True)
    pafs.copy_files(path, f"{root}/{name}", source_filesystem=source, destination_filesystem=files)
    rows = pq.read_metadata(f"{root}/{name}", filesystem=files).num_rows
    return Part(table, name, rows, files.get_file_info(f"{root}/{name}").size)


def parquet(uris: list[str], schema: pa.Schema | None = None) -> pads.Dataset:
    """Data files, at least one, as one dataset; of the first one's schema, if none is given."""
    files, _ = filesystem(uris[0])
    return pads.dataset([filesystem(uri)[1] for uri in uris], schema, filesystem=files, format="parquet")


def missing_files(uris: list[str]) -> list[str]:
    """Those of the data files that are no longer there; VACUUM removes what only older versions name."""
    if not uris:
        return []
    files, _ = filesystem(uris[0])
    found = files.get_file_info([filesystem(uri)[1] for uri in uris])
    return [uri for uri, info in zip(uris, found, strict=True) if info.type == pafs.FileType.NotFound]
