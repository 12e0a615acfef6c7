"""A lake with two published dates, for tests that only read; those that change one take a copy."""

import shutil
from pathlib import Path

import pytest
from lakes import DESKS, FIRST, SECOND, declare, ingest_two_dates, run
from pyspark.sql import SparkSession

from winnow.generate.sample import make_profiles


@pytest.fixture(scope="session")
def published_lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("published")
    lake = str(folder / "lake")
    ingest_two_dates(spark, lake, folder, documents=40)
    profiles = [{**row, "destination": DESKS[k % 3]} for k, row in enumerate(make_profiles(30, seed=2))]
    declare(lake, folder, profiles)
    run(spark, lake, FIRST, SECOND)
    return lake


@pytest.fixture
def lake_copy(published_lake: str, tmp_path: Path) -> str:
    return str(shutil.copytree(published_lake, tmp_path / "copy"))
