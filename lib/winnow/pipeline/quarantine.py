"""Move stored documents that a later step refuses to quarantine, so that their date goes on without them."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from winnow.ingest.accept import Refused
from winnow.ingest.read import Place
from winnow.ingest.scan import quarantine_row
from winnow.lake.contracts import load_contract
from winnow.lake.locks import table_lock
from winnow.lake.parts import arrow_schema
from winnow.lake.store import adopt, location, read_chosen, read_rows, require_table, write_rows


def quarantine(
    spark: SparkSession, lake: str, date: dt.date, refused: Mapping[str, Refused], run: Mapping[str, Any]
) -> None:
    """Writes a row of quarantine for every place of these documents, then takes them out of the other two tables.

    In this order a killed run leaves a document that the next one refuses again, with the same row.
    """
    ids = pa.array(refused)
    version = require_table(lake, "documents").version()
    stored = read_chosen(lake, "documents", ["document_id", "content"], "document_id", ids, version=version)
    contents = dict(zip(stored.column(0).to_pylist(), stored.column(1).to_pylist(), strict=True))
    sources = read_rows(lake, "document_sources", where={"ingest_date": date}).to_pylist()
    rows = [
        quarantine_row(Place(row["source"], row["member"], row["record"]), contents[row["document_id"]], why)
        for row in sources
        if (why := refused.get(row["document_id"]))
    ]
    if rows:
        schema = arrow_schema(load_contract("quarantine"))
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), schema, strict=True)]
        parts = write_rows(lake, "quarantine", pa.table(columns, schema=schema), {"ingest_date": date})
        adopt(lake, "quarantine", parts, {"ingest_date": date}, run)
    for table in ("document_sources", "documents"):
        listed = ", ".join(f"'{document_id}'" for document_id in refused)  # hexadecimal digits
        with table_lock(lake, table):
            place = location(lake, table)
            spark.sql(f"DELETE FROM delta.`{place}` WHERE ingest_date = '{date}' AND document_id IN ({listed})")
