"""Shared fixtures. One Spark session serves all tests; each test gets a lake of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from winnow.tables import Lake

# Kernels compile on first use, and machines are busy: a slow example says nothing.
settings.register_profile("winnow", deadline=None)
settings.load_profile("winnow")

collect_ignore = ["airflow"]  # in another environment: tests/dags/test_provider.py
ROOT = Path(__file__).parents[1]
CORPORA = ROOT.parent / "shared" / "corpora"


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from winnow.tables.session import open_session

    session = open_session(master="local[2]", app="winnow-tests")
    # Code is generated for each of many small queries: a quarter of the time. Tests through Connect do with it.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield session
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


@pytest.fixture(scope="session")
def published_lake(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> "Lake":
    """Two published dates, for tests that only read; those that change something take `lake_copy`."""
    from jobs.lakes import FIRST, SECOND, declare_for_desks, ingest_two_dates, run
    from winnow.tables import Lake

    folder = tmp_path_factory.mktemp("published")
    lake = Lake(str(folder / "lake"))
    ingest_two_dates(spark, lake, folder, documents=40)
    declare_for_desks(spark, lake, folder)
    run(spark, lake, FIRST, SECOND)
    return lake


@pytest.fixture
def lake_copy(published_lake: "Lake", tmp_path: Path) -> "Lake":
    from winnow.tables import Lake

    return Lake(str(shutil.copytree(published_lake.folder, tmp_path / "copy")))


@pytest.fixture(scope="session")
def corpora() -> Path:
    if not CORPORA.is_dir():
        pytest.skip("../shared/corpora is absent: the real corpora are not shipped with the project")
    return CORPORA
