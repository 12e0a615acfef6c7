"""Frames for tests of `winnow.spark`; each test runs in the session that the fixture `spark` gives."""

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame, SparkSession

Frames = Callable[..., DataFrame]


@pytest.fixture
def documents_of(spark: SparkSession) -> Frames:
    """Documents by name: `documents_of(a="<a/>", b=b"<b/>")`; all of one type."""

    def make(**contents: str | bytes | None) -> DataFrame:
        kind = "binary" if any(isinstance(content, bytes) for content in contents.values()) else "string"
        return spark.createDataFrame(list(contents.items()), f"document_id string, content {kind}")

    return make


@pytest.fixture
def profiles_of(spark: SparkSession) -> Frames:
    def make(namespaces: Mapping[str, str] | None = None, **xpaths: str) -> DataFrame:
        rows = [(name, xpath, dict(namespaces or {})) for name, xpath in xpaths.items()]
        return spark.createDataFrame(rows, "profile_id string, xpath string, namespaces map<string,string>")

    return make
