"""A lake of its own for each test, in the shared session.

WINNOW_TEST_SESSION=connect runs them as a client of a Spark Connect server, WINNOW_TEST_SESSION=cluster as a driver of
a standalone cluster.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark.conftest import KIND, address_of, open_session_at
from winnow.tables import Lake, Tables

if KIND != "classic":  # there it is the one session of all tests

    @pytest.fixture(scope="session")
    def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
        with address_of(KIND, tmp_path_factory.mktemp("spark")) as address:
            session = open_session_at(address)
            yield session
            session.stop()


@pytest.fixture(scope="module")
def connect_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server."""
    with address_of("connect", tmp_path_factory.mktemp("connect")) as address:
        yield address


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return Lake(str(tmp_path / "lake")).open(spark)
