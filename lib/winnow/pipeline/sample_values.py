"""Estimate how rare labels and values are, from an even sample of all documents that were ever encoded.

Reads: document_samples. Writes: selectivity, as a whole, when batches came since it was written.

The sample is what has the lowest ranks of all batches (see `winnow.values.reservoir`), so it does not matter in which
batches, or in which order, documents came. No Spark: the sample is small by construction.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from winnow.encoding import Encoder, PathTable, Vocabulary
from winnow.engines.symbols import PathSymbols
from winnow.jobs.report import RunReport
from winnow.lake.locks import table_lock
from winnow.lake.sql import sql
from winnow.lake.store import (
    commit_note,
    commit_parts,
    ensure_tables,
    open_table,
    open_version,
    read_rows,
    require_table,
    write_rows,
)
from winnow.values.counting import LABEL, count_values, merged, selectivity_of
from winnow.values.reservoir import SAMPLE, last_rank
from winnow.values.selectivity import Selectivity

ROWS = 100_000  # values that are kept, the most frequent first
_BATCH_BYTES = 8 << 20


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: str
    run_id: str
    sample: int = SAMPLE  # documents; more than a batch keeps would not be even


def run(config: Config) -> RunReport:
    report = RunReport("sample_values")
    lake = config.lake
    ensure_tables(lake, ("document_samples", "selectivity"))
    with table_lock(lake, "selectivity"):
        version = require_table(lake, "document_samples").version()
        inputs = {"document_samples": version, "documents": config.sample}
        parts, documents = [], 0
        report.counts = {"documents counted": 0, "labels and values": 0}
        if commit_note(lake, "selectivity").get("inputs") == inputs:
            return report
        with report.stage("count"):
            for contents in _sampled(config, version):
                documents += len(contents)
                parts.append(_count(contents))
            rows = _rows(merged(parts), documents) if parts else None
        with report.stage("commit"):
            note = {"job": "sample_values", "run_id": config.run_id, "inputs": inputs}
            written = write_rows(lake, "selectivity", rows) if rows else []
            commit_parts(lake, "selectivity", written, {}, note, replace=True)
    report.counts = {"documents counted": documents, "labels and values": rows.num_rows if rows else 0}
    return report


def load_selectivity(lake: str, version: int | None = None) -> Selectivity | None:
    """What the table says; None when nothing is known yet."""
    if open_table(lake, "selectivity") is None:
        return None
    columns = ["counted", "code", "occurrences", "documents", "sampled"]
    rows = read_rows(lake, "selectivity", columns, version=version)
    return selectivity_of(rows, rows.column("sampled")[0].as_py()) if rows.num_rows else None


def _sampled(config: Config, version: int) -> Iterator[list[bytes]]:
    """The contents of the sample, in batches of bounded size, each document once.

    A batch of a killed run stays in the table and its documents come again in another one.
    """
    samples: pads.Dataset = open_version(config.lake, "document_samples", version).to_pyarrow_dataset()
    known = np.unique(samples.to_table(columns=["rank"]).column(0).to_numpy())
    if not known.size:
        return
    is_chosen = pc.field("rank") <= last_rank(known, config.sample)
    seen: set[int] = set()
    contents: list[bytes] = []
    for batch in samples.scanner(columns=["rank", "content"], filter=is_chosen, batch_size=100).to_batches():
        for rank, content in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            if rank not in seen:
                seen.add(rank)
                contents.append(content)
        if sum(map(len, contents)) > _BATCH_BYTES:
            yield contents
            contents = []
    if contents:
        yield contents


def _count(contents: list[bytes]) -> pa.Table:
    """Codes are made of labels and values, so every batch may have a vocabulary of its own."""
    vocabulary, paths = Vocabulary(), PathTable()
    batch = Encoder(vocabulary, paths).encode(contents, values=True)
    return count_values(batch, PathSymbols(paths, vocabulary).signed(), vocabulary)


def _rows(counted: pa.Table, sampled: int) -> pa.Table:
    """The rows of the table: labels, and the values that occur more than once.

    A value that occurred once says as little as one that did not; they are most of all values, and are left out.
    """
    query = f"""
        WITH totals AS (SELECT label, occurrences AS total FROM counted WHERE counted = '{LABEL}'),
        kept AS (
            SELECT * FROM counted WHERE counted = '{LABEL}' OR occurrences > 1
            ORDER BY counted != '{LABEL}', occurrences DESC, code LIMIT (SELECT count(*) + $rows FROM totals)
        )
        SELECT label, CASE WHEN label = 'text()' THEN 'text' WHEN label LIKE '@%' THEN 'attribute' ELSE 'element' END
            AS kind, counted, value, code, occurrences::BIGINT AS occurrences,
            occurrences / CASE counted WHEN '{LABEL}' THEN (SELECT sum(total) FROM totals) ELSE total END AS fraction,
            documents::BIGINT AS documents, $sampled::BIGINT AS sampled
        FROM kept JOIN totals USING (label) ORDER BY label, counted, occurrences DESC, code
    """
    return sql(query, {"rows": ROWS, "sampled": sampled}, counted=counted)
