"""Who may commit to a table at a time, by where its files are.

On a local folder whoever holds the table's lock. On S3 one driver: Delta's log store there knows nothing of others, so
the first driver that writes claims the lake, and another one is refused for as long as the claim is renewed. Where
Delta's DynamoDB log store is configured, and on all other stores, the log store itself commits only once.
"""

import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from pyspark.sql import SparkSession

from winnow.errors import TransientError, UsageError
from winnow.tables.filesystems import filesystem_of
from winnow.tables.locks import table_lock

CLAIMS = "_writers"  # a folder beside the tables
LEASE_SECONDS = 300.0  # a claim that was not renewed for so long is nobody's
_S3 = ("s3://", "s3a://", "s3n://")
_SINGLE_DRIVER = "io.delta.storage.S3SingleDriverLogStore"  # Delta's default on S3


@contextmanager
def only_writer(spark: SparkSession, place: str, table: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Lets nobody else commit to a table below a place whose store would not notice.

    Raises:
        TransientError: another driver writes there, or the lock was not to be had.
        UsageError: the place cannot be claimed.
    """
    if not place.startswith(_S3):
        with table_lock(place, table):
            yield
    elif has_exclusive_log_store(spark, place):
        yield
    else:
        with _claim_of(place, _driver(spark), json.dumps(dict(options))).held():
            yield


def has_exclusive_log_store(spark: SparkSession, place: str) -> bool:
    """Whether a log store is configured for a place that keeps drivers apart, such as Delta's on DynamoDB."""
    scheme = place.partition("://")[0]
    store = spark.conf.get(f"spark.delta.logStore.{scheme}.impl", _SINGLE_DRIVER)
    return store != _SINGLE_DRIVER


class Claim:
    """What a driver puts beside the tables of a lake, to be seen by others before they write.

    Whoever asks puts a mark of its own and then looks who else is there. Of two who ask at once one sees the other, or
    both do, and are refused. Ages are told by the store's clock alone. Clients of one Connect server share its claim.
    """

    def __init__(
        self, place: str, driver: str, options: Mapping[str, Any], *, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self._place, self._driver, self._lease = place, driver, lease_seconds
        self._filesystem, path = filesystem_of(place, options)
        self._folder = f"{path}/{CLAIMS}"
        self._renewed = -float("inf")
        self._lock = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Claims the lake, and renews the claim as long as something is written."""
        self.renew()
        done = threading.Event()
        heart = threading.Thread(target=self._renew_until, args=(done,), daemon=True)
        heart.start()
        try:
            yield
        finally:
            done.set()

    def renew(self) -> None:
        """Claims the lake, or claims it again, if the last time was long ago.

        Raises:
            TransientError: another driver has claimed it.
            UsageError: the place cannot be written without the session.
        """
        with self._lock:
            began = time.monotonic()
            if began - self._renewed < self._lease / 5:
                return
            try:
                self._ask()
            except OSError as error:
                hint = "set AWS_* or WINNOW_FILESYSTEM_OPTIONS where jobs are started: sessions keep their keys"
                raise UsageError("cannot_claim", f"{self._place} cannot be claimed: {error}", hint=hint) from error
            self._renewed = began

    def _ask(self) -> None:
        asking = f"{self._driver}.{uuid.uuid4().hex}.asking"
        self._put(asking)
        try:
            self._require_nobody_else(asking)
            self._put(f"{self._driver}.holding")
        finally:
            self._filesystem.delete_file(f"{self._folder}/{asking}")

    def _require_nobody_else(self, asking: str) -> None:
        import pyarrow.fs as pafs

        found = self._filesystem.get_file_info(pafs.FileSelector(self._folder))
        files = {info.base_name: info for info in found if info.is_file}
        now = files[asking].mtime
        ages = {name: (now - info.mtime).total_seconds() for name, info in files.items()}
        own = ages.get(f"{self._driver}.holding")
        if own is not None and own < self._lease / 2:
            return  # it is ours, and nobody can have taken it for nobody's
        for name, age in ages.items():
            if age < self._lease and not name.startswith(f"{self._driver}."):
                raise self._refusal(name)

    def _refusal(self, name: str) -> TransientError:
        try:
            with self._filesystem.open_input_stream(f"{self._folder}/{name}") as stream:
                known = json.loads(stream.read())
        except (OSError, ValueError):  # it is gone meanwhile, or being written
            known = {}
        who = f"the Spark driver {name.partition('.')[0]}, for process {known.get('process')} on {known.get('host')}"
        return TransientError(
            "another_writer",
            f"{who}, writes to {self._place}, and on S3 Delta knows one driver at a time; nothing was written",
            hint="send all jobs to one Spark Connect server (--master sc://…), or configure Delta's DynamoDB log store"
            f" (spark.delta.logStore.s3a.impl); if that driver is dead, try again in {self._lease / 60:.0f} minutes",
        )

    def _renew_until(self, done: threading.Event) -> None:
        while not done.wait(self._lease / 5):
            with suppress(TransientError, UsageError):  # the store may not answer for a moment
                self.renew()

    def _put(self, name: str) -> None:
        self._filesystem.create_dir(self._folder, recursive=True)
        with self._filesystem.open_output_stream(f"{self._folder}/{name}") as out:
            out.write(json.dumps({"host": socket.gethostname(), "process": os.getpid()}).encode())


@cache
def _claim_of(place: str, driver: str, options: str) -> Claim:
    """Returns this process's own part in the claim of a driver."""
    return Claim(place, driver, json.loads(options))


def _driver(spark: SparkSession) -> str:
    """Returns the name of the driver: of the Connect server, for its clients."""
    return str(spark.conf.get("spark.app.id"))
