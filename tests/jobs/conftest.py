"""A lake of its own for each test, in the shared session."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from winnow.tables import Lake, Tables


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return Lake(str(tmp_path / "lake")).open(spark)
