"""Sums over the answers, in one pass over their data files: duplicates, references, and the suite's own rules."""

import tempfile
from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as pads

from winnow.lake.contracts import load_contract
from winnow.lake.parts import arrow_schema, filesystem
from winnow.quality.facts import Facts
from winnow.quality.outcome import Outcome

_MEMORY = "2GB"  # beyond that it spills
_FACTS = {
    "repeated_keys": "greatest(staged - 1, 0)",
    "published_keys": "CASE WHEN staged > 0 THEN published ELSE 0 END",
    "unknown_documents": "CASE WHEN known_document THEN 0 ELSE staged + published END",
    "unknown_profiles": "CASE WHEN known_profile THEN 0 ELSE staged + published END",
}
SUMS = (*_FACTS, "staged_rows", "published_rows", "matched_documents")
_ANSWERS = """
    CREATE VIEW answers AS SELECT *, {facts}
    FROM (
        SELECT *, coalesce(document_id IN (SELECT document_id FROM encoded), false) AS known_document,
            coalesce((profile_id, profile_version) IN (SELECT (profile_id, profile_version) FROM asked), false)
                AS known_profile
        FROM (
            SELECT document_id, profile_id, max(profile_version) AS profile_version,
                count(*) FILTER (is_staged) AS staged, count(*) FILTER (NOT is_staged) AS published{rules}
            FROM (
                SELECT *, true AS is_staged FROM staged
                UNION ALL SELECT *, false AS is_staged FROM published {still}
            ) GROUP BY document_id, profile_id
        )
    )
"""
_EXAMPLES = 3


def row_sums(outcome: Outcome, rules: Mapping[str, str], *, encoded: pa.Table, asked: pa.Table) -> Facts:
    """The facts named in SUMS, and one for each rule: how many staged rows satisfy it.

    `encoded` has the documents of the interval, `asked` the profile versions.
    """
    database = duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": tempfile.gettempdir()})
    database.register("encoded", encoded)
    database.register("asked", asked)
    database.register("staged", _rows("matches_staged", outcome.staged, outcome))
    database.register("published", _rows("matches", outcome.published, outcome))
    view = _ANSWERS.format(
        facts=", ".join(f'{expression} AS "{name}"' for name, expression in _FACTS.items()),
        rules="".join(f', count(*) FILTER (is_staged AND ({rule})) AS "{name}"' for name, rule in rules.items()),
        still="SEMI JOIN asked USING (profile_id, profile_version)" if outcome.rewrites else "",
    )
    database.execute(view)
    names = (*_FACTS, *rules)
    sums = ", ".join(f'coalesce(sum("{name}"), 0)' for name in names)
    total = database.execute(
        f"""
        SELECT {sums}, coalesce(sum(staged), 0), coalesce(sum(published), 0),
            count(DISTINCT document_id) FILTER (known_document) FROM answers
        """
    ).fetchall()[0]
    counted = (*names, "staged_rows", "published_rows", "matched_documents")
    facts = Facts({name: int(number) for name, number in zip(counted, total, strict=True)})
    for name in names:
        if facts.numbers[name]:
            query = f'SELECT document_id, profile_id FROM answers WHERE "{name}" > 0 LIMIT {_EXAMPLES}'
            rows = database.execute(query).fetchall()
            facts.examples[name] = [f"document {document}, profile {profile}" for document, profile in rows]
    return facts


def _rows(table: str, uris: tuple[str, ...], outcome: Outcome) -> Any:
    """Rows of data files. Any column may be null here: who reads should not believe a schema that says otherwise."""
    contract = load_contract(table)
    schema = pa.schema([field.with_nullable(True) for field in arrow_schema(contract)])
    partition = pa.schema([pa.field("match_date", pa.date32())])
    if not uris:
        return pa.schema([*schema, *partition]).empty_table()
    files = filesystem(uris[0])[0]
    paths = [filesystem(uri)[1] for uri in uris]
    date = pads.field("match_date") == pa.scalar(outcome.date)
    return pads.FileSystemDataset.from_paths(
        paths,
        schema=pa.schema([*schema, *partition]),
        format=pads.ParquetFileFormat(),
        filesystem=files,
        partitions=[date] * len(paths),
    )
