"""The Spark session: local by default, any master or Spark Connect server by name.

A client of a Connect server needs neither Delta's jars nor Java.
"""

import logging
import os
import re
import sys
from contextlib import nullcontext
from pathlib import Path

from pyspark.sql import SparkSession

from winnow.errors import UsageError
from winnow.tables.jars import session_jars
from winnow.tables.jvm import quiet_start, require_java

_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(,\s*[1-9]\d*)?\])?|local-cluster\[[\d,\s]+\]|yarn|(spark|k8s)://\S+")
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Documents are large rows: bound an Arrow batch by bytes, not by count.
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.shuffle.partitions": os.environ.get("WINNOW_SHUFFLE_PARTITIONS", "4"),
    "spark.databricks.delta.snapshotPartitions": "2",  # 50 by default: 20 s for the first read of a small table
    "spark.databricks.delta.properties.defaults.enableDeletionVectors": "false",
    "spark.sql.inMemoryColumnarStorage.batchSize": "500",
}


def plain_address(server: str) -> str:
    """Returns the address of a Connect server as pyspark wants it, if a token is to go through a plain channel.

    With a token pyspark asks for TLS, whatever `use_ssl` says, except for the host `localhost`. In a network of one's
    own `use_ssl=false` stands: the token then is a header like any other.

    >>> plain_address("sc://spark-connect:15002/;user_id=winnow;token=a%3D;use_ssl=false")
    'sc://spark-connect:15002/;user_id=winnow;authorization=Bearer%20a%3D'
    >>> plain_address("sc://spark.example.com:443/;token=a")
    'sc://spark.example.com:443/;token=a'
    """
    place, *words = server.split(";")
    if "use_ssl=false" not in words:
        return server
    kept = [re.sub("^token=", "authorization=Bearer%20", word) for word in words if word != "use_ssl=false"]
    return ";".join([place, *kept])


def s3_settings() -> dict[str, str]:
    """Returns what the environment says of S3 (`AWS_*`) as Spark wants to hear it; keys are read from there anyway."""
    endpoint, region = os.environ.get("AWS_ENDPOINT_URL"), os.environ.get("AWS_REGION")
    settings = {"spark.hadoop.fs.s3a.endpoint.region": region} if region else {}
    if endpoint:  # not Amazon's own, whose buckets have names of their own
        settings |= {"spark.hadoop.fs.s3a.endpoint": endpoint, "spark.hadoop.fs.s3a.path.style.access": "true"}
    return settings


_OF_A_CONNECTED_SESSION = ("spark.sql.session.timeZone", "spark.sql.execution.arrow.maxBytesPerBatch")


def open_session(*, master: str | None = None, app: str = "winnow") -> SparkSession:
    """Returns the one session of this process.

    `master` is a Spark master, or `sc://host:port` of a Connect server that was started with the settings of Delta; it
    defaults to WINNOW_MASTER, else to spark-submit's own, else to local[*].
    """
    master = master or os.environ.get("WINNOW_MASTER")
    if master and master.startswith("sc://"):
        session = SparkSession.builder.remote(plain_address(master)).getOrCreate()
        for name in _OF_A_CONNECTED_SESSION:
            session.conf.set(name, SETTINGS[name])
        return session
    # Workers must run this very interpreter: by default Spark takes whatever python3 is first on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master:
        _require_master(master)
        builder = builder.master(master)
    elif not submitted:
        builder = builder.master("local[*]")
    if not submitted:
        require_java()
        if jars := session_jars():
            builder = builder.config("spark.jars", ",".join(jars))
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_SUBMIT_ARGS", _submit_arguments())
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
        # Over TCP a task's first row waits 40 ms for the acknowledgement of what came before it. Who submits a job
        # decides for himself: in the deep folders of some clusters a socket's name is too long.
        builder = builder.config("spark.python.unix.domain.socket.enabled", "true")
    for name, value in {**SETTINGS, **s3_settings()}.items():
        builder = builder.config(name, value)
    with nullcontext() if submitted else quiet_start():
        session = builder.getOrCreate()
    logging.getLogger("py4j").setLevel(logging.WARNING)
    return session


def _require_master(master: str) -> None:
    """Spark itself would start, and then print a stack of its own."""
    if not _MASTER.fullmatch(master):
        hint = "local, local[4], local[*], yarn, spark://host:7077, k8s://host:443, or sc://host:15002 of Spark Connect"
        raise UsageError("bad_master", f"{master!r} is no Spark master", hint=hint)


def _submit_arguments() -> str:
    memory = os.environ.get("WINNOW_DRIVER_MEMORY", "3g")
    logging_options = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
    return f"--driver-memory {memory} --driver-java-options '-XX:+UseParallelGC {logging_options}' pyspark-shell"
