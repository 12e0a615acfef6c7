"""Estimate how rare labels and values are, from an even sample of all documents that were ever encoded.

Reads:  encoded_documents, documents
Writes: document_samples; selectivity, derived from it

A document's rank is a hash of its id, and the sample is what has the lowest ranks (Miliaraki and Koubarakis, DEBS 2010,
§5.2, with ranks instead of random numbers). So it does not matter in which batches, or in which order, documents came.
The documents of a batch are read once: those of a low rank are kept in document_samples.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from winnow.jobs.report import RunReport
from winnow.tables import Lake, Tables, Transaction, contract
from winnow.tables.small import read_one, read_small

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 1000  # documents
MAX_VALUES = 100_000  # values that are kept, the most frequent first
MAX_BATCHES = 100_000
COUNTED = "label string, counted string, code long, value string, occurrences long, documents long"


@dataclass(frozen=True, kw_only=True)
class Config:
    lake: Lake
    sample: int = SAMPLE
    values: int = MAX_VALUES


def run(spark: SparkSession, config: Config) -> RunReport:
    report = RunReport("sample_values", {"documents sampled": 0, "labels and values": 0})
    tables = config.lake.open(spark)
    tables.create("document_samples", "selectivity", "encoded_documents", "documents")
    with report.stage("sample"):
        if not add_samples(tables, config.sample):
            return report.nothing_to_do()
    with report.stage("count"):
        report.counts = estimate(tables, config)
    return report


def estimate(tables: Tables, config: Config) -> dict[str, int]:
    """Makes the estimates those of the samples that are kept now."""
    version = tables.version("document_samples")
    samples = tables.read("document_samples", version=version).orderBy("rank").limit(config.sample)
    counted = samples.select("document_id", "content", "encoding").mapInArrow(_count_values, COUNTED)
    estimates = selectivity(counted, samples, config.values)
    tables.replace("selectivity", estimates, Transaction(f"selectivity/{version}/{config.sample}/{config.values}"))
    return {"documents sampled": samples.count(), "labels and values": tables.read("selectivity").count()}


def add_samples(tables: Tables, size: int) -> bool:
    """Keeps documents of the batches that came since the last time; False where none came."""
    versions = tables.versions("encoded_documents", "document_samples")
    encoded = tables.read("encoded_documents", version=versions["encoded_documents"]).where("refused IS NULL")
    known = tables.read("document_samples", version=versions["document_samples"])
    batches = encoded.select("ingest_date", "batch").distinct()
    new = read_small(batches.join(known, ["ingest_date", "batch"], "left_anti"), MAX_BATCHES)
    if not new:
        return False
    lowest = read_one(known.orderBy("rank").limit(size).agg(sf.count("*").alias("count"), sf.max("rank").alias("last")))
    last = lowest["last"] if lowest["count"] == size else None
    is_new = sf.col("ingest_date").isin(sorted({row["ingest_date"] for row in new}))
    batches_of = encoded.where(is_new).select("document_id", "ingest_date", "batch")
    documents = tables.read("documents").where(is_new).select("document_id", "content", "encoding")
    kept = lowest_ranks(batches_of.join(known, ["ingest_date", "batch"], "left_anti"), size, last)
    rows = documents.join(sf.broadcast(kept), "document_id").select(*contract("document_samples").names)
    name = f"document_samples/{versions['encoded_documents']}/{versions['document_samples']}/{size}"
    tables.append("document_samples", rows, Transaction(name))
    return True


def lowest_ranks(documents: DataFrame, size: int, last: int | None) -> DataFrame:
    """Returns, of each batch, the documents that may belong to a sample of this size, and at least one.

    `last` is the highest rank of the sample that is kept already, if it has its full size.
    """
    place = sf.row_number().over(Window.partitionBy("ingest_date", "batch").orderBy("rank"))
    ranked = documents.withColumn("rank", sf.xxhash64("document_id")).withColumn("place", place)
    belongs = sf.col("place") <= size
    if last is not None:
        belongs = (sf.col("place") == 1) | (belongs & (sf.col("rank") <= last))
    return ranked.where(belongs).drop("place")


def selectivity(counted: DataFrame, samples: DataFrame, values: int) -> DataFrame:
    """Returns counts of all labels, and of the values that occur more than once.

    A value that occurred once says as little as one that did not; they are most of all values, and are left out.
    """
    whole = counted.groupBy("label", "counted", "code").agg(
        sf.min("value").alias("value"),
        sf.sum("occurrences").alias("occurrences"),
        sf.sum("documents").alias("documents"),
    )
    labels = whole.where("counted = 'label'")
    totals = labels.select("label", sf.col("occurrences").alias("total"))
    nodes = totals.agg(sf.sum("total").alias("nodes"))
    frequent = whole.where("counted <> 'label' AND occurrences > 1").orderBy(sf.desc("occurrences"), "code")
    kind = "CASE WHEN label = 'text()' THEN 'text' WHEN label LIKE '@%' THEN 'attribute' ELSE 'element' END"
    return (
        labels.unionByName(frequent.limit(values))
        .join(sf.broadcast(totals), "label")
        .crossJoin(sf.broadcast(nodes))
        .crossJoin(sf.broadcast(samples.agg(sf.count("*").alias("sampled"))))
        .withColumn("kind", sf.expr(kind))
        .withColumn("fraction", sf.expr("occurrences / if(counted = 'label', nodes, total)"))
        .select(*contract("selectivity").names)
        .coalesce(1)
    )


def _count_values(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    from winnow.index.document_tasks import count_document_values

    return count_document_values(batches)
