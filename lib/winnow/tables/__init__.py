"""Where tables are, what shape they have, and how they are read and written: Delta tables by Spark."""

from winnow.tables.contract import contract, table_names
from winnow.tables.lake import Lake
from winnow.tables.tables import Tables
from winnow.tables.transactions import Transaction

__all__ = ["Lake", "Tables", "Transaction", "contract", "table_names"]
