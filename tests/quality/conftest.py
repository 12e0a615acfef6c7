"""One small lake serves all tests of the gate; whoever changes it takes a copy."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from quality.gate_lake import GateLake, make_gate_lake


@pytest.fixture(scope="session")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> GateLake:
    return make_gate_lake(spark, tmp_path_factory.mktemp("gate"))


@pytest.fixture
def ready(prepared: GateLake, tmp_path: Path) -> GateLake:
    """A copy of its own for each test."""
    return prepared.copy(tmp_path / "lake")
