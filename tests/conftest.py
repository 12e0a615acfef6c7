"""Shared fixtures. One Spark session serves all tests; each test gets a lake of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Kernels compile on first use, and machines are busy: a slow example says nothing.
settings.register_profile("winnow", deadline=None)
settings.load_profile("winnow")

ROOT = Path(__file__).parents[1]
CORPORA = ROOT.parent / "shared" / "corpora"


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from winnow.tables.session import open_session

    session = open_session(master="local[2]", app="winnow-tests")
    yield session
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


@pytest.fixture(scope="session")
def corpora() -> Path:
    if not CORPORA.is_dir():
        pytest.skip("../shared/corpora is absent: the real corpora are not shipped with the project")
    return CORPORA
