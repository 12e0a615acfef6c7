"""Frames for tests of `winnow.spark`; each test runs in the session that the fixture `spark` gives.

WINNOW_TEST_SESSION says which kind that is, for all tests of a process: `classic` (the default), `connect` (a client of
a Spark Connect server) or `cluster` (a driver of a standalone cluster). `infra/test.sh` runs the tests in each of them.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from .servers import connect_server, standalone_cluster

Frames = Callable[..., DataFrame]
KIND = os.environ.get("WINNOW_TEST_SESSION", "classic")

if KIND != "classic":  # there it is the one session of all tests

    @pytest.fixture(scope="session")
    def spark(address: str) -> Iterator[SparkSession]:
        session = open_session_at(address)
        yield session
        session.stop()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with address_of(KIND, tmp_path_factory.mktemp("spark")) as found:
        yield found


@contextmanager
def address_of(kind: str, folder: Path) -> Iterator[str]:
    """Where sessions of this kind are opened: a master, or a Spark Connect server."""
    if kind == "classic":
        yield "local[2]"
    elif kind == "connect":
        with connect_server(folder) as url:
            yield url
    elif kind == "cluster":
        with standalone_cluster(folder) as master:
            yield master
    else:
        raise ValueError(f"WINNOW_TEST_SESSION={kind}: not classic, connect or cluster")


def open_session_at(address: str) -> SparkSession:
    """A session of a process's own, for code that a test runs in another process, too."""
    from winnow.tables.session import open_session

    if address.startswith("sc://"):
        return SparkSession.builder.remote(address).getOrCreate()
    return open_session(master=address, app="winnow-tests")


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
