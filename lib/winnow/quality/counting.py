"""Rows that should not be there: how many, and a few of them in words."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from winnow.quality.finding import EXAMPLES, Finding, counted
from winnow.tables.small import read_one, read_small


def found(rows: DataFrame, words: Column) -> Finding:
    """Counts rows that should not be there, in one job; some of them in words."""
    told = read_one(rows.select(words.alias("words")).agg(sf.count("*").alias("n"), sf.min("words").alias("first")))
    if not told["n"]:
        return counted(0)
    examples = read_small(rows.select(words.alias("words")).limit(EXAMPLES))
    return counted(told["n"], tuple(sorted(row["words"] for row in examples)))


def unknown_values(rows: DataFrame, column: str, known: DataFrame, key: str) -> Finding:
    """Counts values of a column, or of its arrays, that another table does not have."""
    is_array = rows.schema[column].dataType.typeName() == "array"
    values = rows.select(sf.explode(column).alias("value") if is_array else sf.col(column).alias("value"))
    strangers = (
        values.where("value IS NOT NULL")
        .distinct()
        .join(known.select(sf.col(key).alias("value")), "value", "left_anti")
    )
    return found(strangers, sf.concat(sf.lit(f"{key} "), sf.col("value").cast("string")))


def repeated_keys(rows: DataFrame, columns: list[str]) -> Finding:
    """Counts keys that more than one row has."""
    named = sf.concat_ws(", ", *(sf.concat(sf.lit(f"{name} "), sf.col(name).cast("string")) for name in columns))
    suspects = rows.groupBy(sf.xxhash64(*columns).alias("hash")).count().where("count > 1")
    if suspects.isEmpty():  # keys are compared by a hash first; only if some are equal by themselves
        return counted(0)
    return found(rows.groupBy(*columns).count().where("count > 1"), named)
