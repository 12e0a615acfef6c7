"""`spark.read.format("winnow_xml")`: XML files, archives and containers, one row per record.

A record is a document, or it is refused: then `reason`, `line`, `column` and `message` say why, and `document_id` is
null. Options: `recordTag` (the element that is one record of a large file), `maxBytes` and `maxNodes` of one record,
`maxExpansion` (bytes that may come out of each byte of a compressed file), and `filesystemOptions` (JSON: arguments of
pyarrow's file system, for `s3://…`); several places are given to `load` as a list.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from winnow.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = (
    "source string, member string, record bigint, document_id string, content binary, encoding string, root string,"
    " reason string, line bigint, column bigint, message string"
)
OPTIONS = ("path", "paths", "recordtag", "maxbytes", "maxnodes", "maxexpansion", "filesystemoptions")
_BATCH_BYTES, _BATCH_ROWS = 8 << 20, 1000


class XmlDataSource(DataSource):
    """The source; a misspelt option is an error."""

    @classmethod
    def name(cls) -> str:
        return "winnow_xml"

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> "XmlReader":
        unknown = [name for name in self.options if name.lower() not in OPTIONS]
        if unknown:
            hint = "recordTag, maxBytes, maxNodes, maxExpansion and filesystemOptions are known"
            raise UsageError("bad_option", f"winnow_xml has no option {unknown[0]!r}", hint=hint)
        return XmlReader({name.lower(): value for name, value in self.options.items()})


class Files(InputPartition):
    """What one task reads: about as many bytes as every other."""

    def __init__(self, piece: Any) -> None:
        super().__init__(None)
        self.piece = piece


class XmlReader(DataSourceReader):
    def __init__(self, options: Mapping[str, str]) -> None:
        paths = json.loads(options["paths"]) if "paths" in options else [options.get("path", "")]
        if not all(paths):
            raise UsageError("no_input", "winnow_xml: nothing to read", hint="give a path: .load('…')")
        self._paths = tuple(paths)
        self._record_tag = options.get("recordtag") or None
        numbers = {name: _number(name, options.get(name.lower())) for name in ("maxBytes", "maxNodes", "maxExpansion")}
        self._max_bytes, self._max_nodes, self._max_expansion = numbers.values()
        self._filesystem_options = _filesystem_options(options.get("filesystemoptions", "{}"))

    def partitions(self) -> list[InputPartition]:
        from winnow.ingest.sources import plan
        from winnow.spark.xml_files import list_inputs

        pieces = plan(list_inputs(self._paths, self._filesystem_options), containers=self._record_tag is not None)
        return [Files(piece) for piece in pieces]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        from winnow.ingest.accept import DEFAULT_LIMITS
        from winnow.ingest.expansion import DEFAULT_EXPANSION
        from winnow.ingest.read import read_file
        from winnow.spark.xml_files import open_input

        assert isinstance(partition, Files)
        limits = DEFAULT_LIMITS._replace(
            max_bytes=self._max_bytes or DEFAULT_LIMITS.max_bytes, max_nodes=self._max_nodes or DEFAULT_LIMITS.max_nodes
        )
        unpacked = DEFAULT_EXPANSION.unpacked
        unpacked = unpacked._replace(per_byte=self._max_expansion or unpacked.per_byte)
        expansion = DEFAULT_EXPANSION._replace(unpacked=unpacked)
        items: list[Any] = []
        size = 0
        opener = partial(open_input, options=self._filesystem_options)
        for file in partition.piece.files:
            found = read_file(
                file, record_tag=self._record_tag, max_bytes=limits.max_bytes, expansion=expansion, opener=opener
            )
            for number, item in enumerate(found):
                if not partition.piece.takes(number):
                    continue
                items.append(item)
                size += len(item.content)
                if size >= _BATCH_BYTES or len(items) >= _BATCH_ROWS:
                    yield _rows(items, limits)
                    items, size = [], 0
        if items:
            yield _rows(items, limits)


def _number(name: str, text: str | None) -> int:
    """Returns 0 for what is not given."""
    if text is not None and not text.isdigit():
        raise UsageError("bad_option", f"winnow_xml: {name} is {text!r}", hint="give a whole number")
    return int(text or 0)


def _filesystem_options(text: str) -> dict[str, Any]:
    """What it holds may be secret, so it is not repeated in errors."""
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        hint = """give JSON, such as {"region": "eu-central-1"}"""
        raise UsageError("bad_option", "winnow_xml: filesystemOptions is no JSON object", hint=hint)
    return options


def _rows(items: list[Any], limits: Any) -> "pa.RecordBatch":
    import pyarrow as pa

    from winnow.ingest.accept import Accepted, accept

    verdicts = [item.refused or accept(item.content, limits) for item in items]
    taken = [verdict if isinstance(verdict, Accepted) else None for verdict in verdicts]
    refused = [None if isinstance(verdict, Accepted) else verdict for verdict in verdicts]
    places = [item.place for item in items]
    text, number = pa.string(), pa.int64()
    columns = {
        "source": pa.array([place.source for place in places], text),
        "member": pa.array([place.member for place in places], text),
        "record": pa.array([place.record for place in places], number),
        "document_id": pa.array([verdict and verdict.document_id for verdict in taken], text),
        "content": pa.array([item.content or None for item in items], pa.binary()),
        "encoding": pa.array([verdict and verdict.encoding for verdict in taken], text),
        "root": pa.array([verdict and verdict.root for verdict in taken], text),
        "reason": pa.array([verdict and str(verdict.reason) for verdict in refused], text),
        "line": pa.array([_line(place, why) for place, why in zip(places, refused, strict=True)], number),
        "column": pa.array([verdict and verdict.column for verdict in refused], number),
        "message": pa.array([verdict and verdict.message for verdict in refused], text),
    }
    return pa.RecordBatch.from_pydict(columns)


def _line(place: Any, refused: Any) -> int | None:
    """Counted in the container."""
    if refused is None:
        return None
    return int(refused.line + place.line - 1 if refused.line else (place.line if place.record else 0))
