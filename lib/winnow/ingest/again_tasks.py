"""Judges bytes that were refused before, on workers: limits and code may have changed since."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from winnow.ingest.accept import Accepted, Limits, accept


def accept_again(batches: Iterable[pa.RecordBatch], limits: Limits) -> Iterator[pa.RecordBatch]:
    """Yields the rows whose `content` is accepted now, with document_id, encoding and root."""
    for batch in batches:
        verdicts = [accept(content.as_py(), limits) for content in batch.column("content")]
        taken = [verdict for verdict in verdicts if isinstance(verdict, Accepted)]
        kept = batch.filter(pa.array([isinstance(verdict, Accepted) for verdict in verdicts], pa.bool_()))
        found = {
            "document_id": pa.array([verdict.document_id for verdict in taken], pa.string()),
            "encoding": pa.array([verdict.encoding for verdict in taken], pa.string()),
            "root": pa.array([verdict.root for verdict in taken], pa.string()),
        }
        names = [*kept.schema.names, *found]
        yield pa.RecordBatch.from_arrays([*kept.columns, *found.values()], names=names)
