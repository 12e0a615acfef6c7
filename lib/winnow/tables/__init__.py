"""Where tables are, what shape they have, and how they are read and written: Delta tables by Spark.

`Tables` needs pyspark and is loaded on first use: where tables are and what shape they have is known without it.
"""

from typing import TYPE_CHECKING, Any

from winnow.tables.contract import contract, table_names
from winnow.tables.lake import Lake
from winnow.tables.transactions import Transaction

if TYPE_CHECKING:
    from winnow.tables.tables import Tables

__all__ = ["Lake", "Tables", "Transaction", "contract", "table_names"]


def __getattr__(name: str) -> Any:
    if name == "Tables":
        from winnow.tables.tables import Tables

        return Tables
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
