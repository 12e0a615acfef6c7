"""The floor: the least that any Spark job takes which parses documents and writes as many matches.

It is one `mapInArrow` that parses the same documents with libxml2 and emits as many match rows of the same width, from
values that are there already, written to Delta with the properties of `matches`.
"""

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.tables import Lake, Tables, Transaction, contract

if TYPE_CHECKING:
    import pyarrow as pa


def write_floor(tables: Tables, rows: int, number: int) -> None:
    """Writes so many rows for each document into a lake of its own."""
    documents = tables.read("documents").select("document_id", "content")
    target = Lake(f"{tables.lake.location}/floor-{number}").open(tables.spark)
    target.append("matches", documents.mapInArrow(EmitRows(rows), contract("matches").row_type), Transaction("floor"))


@dataclass(frozen=True)
class EmitRows:
    """The function of `mapInArrow` that parses each document and emits rows that were made before."""

    rows: int

    def __call__(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        from winnow.parsing import parse

        made = None
        for batch in batches:
            for content in batch.column(1).to_pylist():
                parse(content)
            if made is None or made.num_rows != self.rows * batch.num_rows:
                made = match_rows(self.rows * batch.num_rows)
            yield pa.RecordBatch.from_arrays(made.columns, schema=made.schema)


def match_rows(count: int) -> "pa.RecordBatch":
    """Returns rows as wide as those of the benchmark's matches."""
    import pyarrow as pa

    numbers = range(count)
    columns = {
        "document_id": pa.array([f"{k // 32:064x}" for k in numbers]),
        "source": pa.array([f"/landing/2026-11-16/part-{k // 32 % 10}.tar.gz!{k // 32:06d}.xml" for k in numbers]),
        "profile_id": pa.array([f"p{k * 7919 % 100000}" for k in numbers]),
        "profile_version": pa.array([1] * count, pa.int32()),
        "subscriber": pa.array([f"s{k % 1000}" for k in numbers]),
        "destination": pa.array([f"d{k % 20}" for k in numbers]),
        "witness": pa.array([f"/n1/n{k % 7}[1]/n{k % 31}[{k % 3 + 1}]/n{k % 11}[1]" for k in numbers]),
        "run_id": pa.array(["bench"] * count),
        "match_date": pa.array([dt.date(2026, 11, 16)] * count),
    }
    return pa.RecordBatch.from_pydict(columns)
