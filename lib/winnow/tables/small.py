"""The one way in which rows come to the driver: few of them, and never more than was foreseen."""

from typing import Any

from pyspark.sql import DataFrame, Row

from winnow.errors import DataError

SMALL = 10_000  # rows


def read_small(frame: DataFrame, limit: int = SMALL) -> list[Row]:
    """Returns the rows of a frame that is small by construction.

    Raises:
        DataError: it has more than `limit` rows.
    """
    rows = frame.limit(limit + 1).collect()
    if len(rows) > limit:
        raise DataError(
            "not_small",
            f"more than {limit:,} rows would come to the driver: {', '.join(frame.columns[:5])}, …",
            hint="this is a fault of the program: what grows with documents stays in tables",
        )
    return rows


def read_one(frame: DataFrame) -> dict[str, Any]:
    """Returns the only row of an aggregation."""
    return read_small(frame, 1)[0].asDict()
